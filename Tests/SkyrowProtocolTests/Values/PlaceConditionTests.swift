import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

private let at = #"{"$type":"keypath","$val":"at"}"#
private func geo(_ longitude: Double, _ latitude: Double) -> String {
    #"{"$type":"geo","$lng":\#(longitude),"$lat":\#(latitude)}"#
}
private func place(_ longitude: Double, _ latitude: Double) -> Location {
    try! Location(latitude: latitude, longitude: longitude)
}

@Suite struct PlaceConditionTests {
    static let readable: [(String, RecordPredicate)] = [
        (#"["near",\#(at),\#(geo(1, 2))]"#, .place(keyPath("at"), .near(place(1, 2), radius: nil))),
        (#"["near",\#(at),\#(geo(1, 2)),5000]"#, .place(keyPath("at"), .near(place(1, 2), radius: 5000))),
        (#"["near",\#(at),\#(geo(1, 2)),0.5]"#, .place(keyPath("at"), .near(place(1, 2), radius: 0.5))),
        (
            #"["within_box",\#(at),\#(geo(170, -1.5)),\#(geo(-170, 2))]"#,
            .place(keyPath("at"), .inBox(southWest: place(170, -1.5), northEast: place(-170, 2)))
        ),
        (
            #"["within_polygon",\#(at),[\#(geo(0, 0)),\#(geo(1, 0)),\#(geo(0, 1))]]"#,
            .place(keyPath("at"), .inPolygon([[place(0, 0), place(1, 0), place(0, 1)]]))
        ),
        (
            #"["gt",5000,["func","distance",\#(at),\#(geo(1, 2))]]"#,
            .comparison(.gt, .value(.integer(5000)), .function(.distance(place(1, 2)), keyPath("at")))
        ),
    ]

    @Test(arguments: readable)
    func conditionsAreReadAsTheyAreWritten(text: String, predicate: RecordPredicate) throws {
        #expect(try readJSON(text) { try RecordPredicate($0) } == predicate)
        #expect(try readJSON(writtenJSON { $0.predicate(predicate) }) { try RecordPredicate($0) } == predicate)
    }

    @Test(arguments: [
        (#"["near",\#(at)]"#, "predicate"), (#"["near",\#(at),\#(geo(1, 2)),1,2]"#, "predicate"),
        (#"["near","at",\#(geo(1, 2))]"#, "predicate[1]"),
        (#"["near",["func","fold",\#(at)],\#(geo(1, 2))]"#, "predicate[1]"),
        (#"["near",{},\#(geo(1, 2))]"#, "predicate[1]"), (#"["near",\#(geo(1, 2)),\#(at)]"#, "predicate[1]"),
        (#"["near",\#(at),null]"#, "predicate[2]"), (#"["near",\#(at),[1,2]]"#, "predicate[2]"),
        (#"["near",\#(at),{"$type":"geo","$lng":181,"$lat":0}]"#, "predicate[2]"),
        (#"["near",\#(at),\#(geo(1, 2)),"5000"]"#, "predicate[3]"),
        (#"["near",\#(at),\#(geo(1, 2)),null]"#, "predicate[3]"),
        (#"["near",\#(at),\#(geo(1, 2)),1e400]"#, "predicate[3]"),
        (#"["within_box",\#(at),\#(geo(1, 2))]"#, "predicate"),
        (#"["within_box",\#(at),\#(geo(1, 2)),1]"#, "predicate[3]"),
        (#"["within_polygon",\#(at),\#(geo(1, 2)),\#(geo(1, 2)),\#(geo(1, 2))]"#, "predicate"),
        (#"["within_polygon",\#(at),\#(geo(1, 2))]"#, "predicate[2]"),
        (#"["within_polygon",\#(at),[\#(geo(1, 2)),7]]"#, "predicate[2][1]"),
        (#"["and",["lt",["func","distance",\#(at)],1]]"#, "predicate[1][1][3]"),
        (#"["lt",["func","distance",\#(at),5],1]"#, "predicate[1][3]"),
        (#"["lt",["func","distance",\#(at),\#(geo(1, 2)),1],1]"#, "predicate[1][3]"),
    ])
    func theFaultyElementIsNamed(text: String, path: String) throws {
        let error = try refusal(text) { try RecordPredicate($0) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.path == path)
    }

    @Test func theVerticesOfAPolygonAreBoundedWhereTheyAreRead() throws {
        func polygon(_ count: Int) -> String {
            let vertices = Array(repeating: geo(1, 2), count: count).joined(separator: ",")
            return #"["within_polygon",\#(at),[\#(vertices)]]"#
        }
        // One more than there may be closes the ring.
        _ = try readJSON(polygon(1001)) { try RecordPredicate($0) }
        for count in [1002, 20_000] {
            #expect(try refusal(polygon(count)) { try RecordPredicate($0) }?.path == "predicate[2]")
        }
    }

    @Test func anIncludedNumberIsReadAsItIsWritten() throws {
        var record = Record(id: recordID("shop/1"))
        record.transient = ["none": nil as Record?]
        record.computed = ["away": 12.5]
        let text = #"{"_id":"shop/1","_type":"record","_access":null,"_transient":{"away":12.5,"none":null}}"#
        #expect(writtenJSON { $0.record(record) } == text)
        #expect(try readJSON(text) { try Record($0) } == record)
        #expect(try readJSON(text.replacing("12.5", with: "3")) { try Record($0) }.computed == ["away": 3])
    }
}

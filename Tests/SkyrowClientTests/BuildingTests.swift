import Foundation
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowClient

@Suite struct BuildingTests {
    private static func path(_ name: String) -> Operand { .keyPath(FieldPath(unchecked: name)) }

    private static let rows: [(built: RecordPredicate, expected: RecordPredicate)] = {
        var rows: [(built: RecordPredicate, expected: RecordPredicate)] = []
        func row(_ built: RecordPredicate, _ expected: RecordPredicate) { rows.append((built, expected)) }
        row(Field("a") == 1, .comparison(.eq, path("a"), .value(.integer(1))))
        row(Field("a") != "x", .comparison(.neq, path("a"), .value(.string("x"))))
        row(Field("a") < 1.5, .comparison(.lt, path("a"), .value(.number(1.5))))
        row(Field("a") <= 1, .comparison(.lte, path("a"), .value(.integer(1))))
        row(Field("a") > 1, .comparison(.gt, path("a"), .value(.integer(1))))
        row(Field("a.b") >= 1, .comparison(.gte, path("a.b"), .value(.integer(1))))
        row(Field("a") == true, .comparison(.eq, path("a"), .value(.boolean(true))))
        row(Field("a").like("x%"), .comparison(.like, path("a"), .value(.string("x%"))))
        row(Field("a").ilike("x%"), .comparison(.ilike, path("a"), .value(.string("x%"))))
        row(Field("a").isIn([1, "b"]), .comparison(.in, path("a"), .list([.integer(1), .string("b")])))
        row(Field("a").contains("t"), .comparison(.contains, path("a"), .value(.string("t"))))
        row(Field("a").contains(2), .comparison(.contains, path("a"), .value(.integer(2))))
        row(
            Field("a").any(Field.element >= 1 && Field("b.c") == 2),
            .elements(FieldPath(unchecked: "a"), .any, Field("$") >= 1 && Field("b.c") == 2)
        )
        row(Field("a").all(Field.element == "x"), .elements(FieldPath(unchecked: "a"), .all, Field("$") == "x"))
        row(Field("a").containsAll([1]), .comparison(.containsAll, path("a"), .list([.integer(1)])))
        row(Field("a").compared(by: .containsAny, to: [1]), .comparison(.containsAny, path("a"), .list([.integer(1)])))
        row(Field("a").compared(by: .endsWith, to: "x"), .comparison(.endsWith, path("a"), .value(.string("x"))))
        row(Field("a").containsAny([1]), .comparison(.containsAny, path("a"), .list([.integer(1)])))
        row(Field("a").isContained(in: [1]), .comparison(.containedBy, path("a"), .list([.integer(1)])))
        row(Field("a").isNotIn(["b"]), .comparison(.nin, path("a"), .list([.string("b")])))
        row(Field("a").isBetween(1, 2), .between(path("a"), .integer(1), .integer(2)))
        row(Field("a").hasPrefix("x"), .comparison(.startsWith, path("a"), .value(.string("x"))))
        row(Field("a").hasSuffix("x"), .comparison(.endsWith, path("a"), .value(.string("x"))))
        row(Field("a").matches("^x"), .regex(path("a"), "^x", ignoresCase: false))
        row(
            Field("a").folded.matches("x", ignoringCase: true),
            .regex(.function(.fold, FieldPath(unchecked: "a")), "x", ignoresCase: true)
        )
        row(Field("a").hasWords("x -y*"), .match(path("a"), "x -y*"))
        row(
            Field("a").folded == "x",
            .comparison(.eq, .function(.fold, FieldPath(unchecked: "a")), .value(.string("x")))
        )
        row(Field("a").size > 2, .comparison(.gt, .function(.size, FieldPath(unchecked: "a")), .value(.integer(2))))
        let here = try! Location(latitude: 22.28, longitude: 114.15)
        let there = try! Location(latitude: 23, longitude: 115)
        row(Field("a").isNear(here), .place(FieldPath(unchecked: "a"), .near(here, radius: nil)))
        row(Field("a").isNear(here, within: 5), .place(FieldPath(unchecked: "a"), .near(here, radius: 5)))
        row(
            Field("a").isInBox(southWest: here, northEast: there),
            .place(FieldPath(unchecked: "a"), .inBox(southWest: here, northEast: there))
        )
        row(Field("a").isInPolygon([here, there]), .place(FieldPath(unchecked: "a"), .inPolygon([[here, there]])))
        row(
            Field("a").distance(from: here) < 5000,
            .comparison(.lt, .function(.distance(here), FieldPath(unchecked: "a")), .value(.integer(5000)))
        )
        row(.none(of: Field("a") == 1), .none([.comparison(.eq, path("a"), .value(.integer(1)))]))
        row(Field("a").isNull, .comparison(.eq, path("a"), .value(.null)))
        row(Field("a").isNotNull, .comparison(.neq, path("a"), .value(.null)))
        return rows
    }()

    @Test func operatorsMakeConditions() {
        for (built, expected) in BuildingTests.rows { #expect(built == expected) }
    }

    @Test func aPathIntoJSONSaysAsWhatItIsRead() {
        guard case .comparison(.lt, .keyPath(let path), _) = Field("meta.width", as: .number) < 3 else {
            Issue.record("no comparison of a key path")
            return
        }
        #expect(path.description == "meta.width")
        #expect(path.jsonType == .number)
        let start = Timestamp(microseconds: 0)
        var moment = FieldPath(unchecked: "meta.at")
        moment.jsonType = .datetime
        let condition = Field("meta.at", as: .datetime) >= .datetime(start)
        #expect(condition == .comparison(.gte, .keyPath(moment), .value(.datetime(start))))
    }

    @Test func conditionsAreJoinedWithoutNesting() {
        let (a, b, c) = (Field("a") == 1, Field("b") == 2, Field("c") == 3)
        #expect((a && b && c) == .and([a, b, c]))
        #expect((a && (b && c)) == .and([a, b, c]))
        #expect((a || b || c) == .or([a, b, c]))
        #expect((a && b || c) == .or([.and([a, b]), c]))
        #expect(!(a && b) == .not(.and([a, b])))
    }

    @Test func aFunctionSortsAQuery() throws {
        let query = try RecordQuery("note").sorted(by: Field("title").folded, .descending).omitting(["tags"])
        #expect(query.sort.map(\.function) == [.fold])
        #expect(query.omittedFields == ["tags"])
    }

    @Test func aDistanceSortsAndIsSentAlong() throws {
        let here = try Location(latitude: 22.28, longitude: 114.15)
        let distance = Field("at").distance(from: here)
        let query = try RecordQuery("shop").sorted(by: distance).including(distance, as: "metres")
        #expect(query.sort.map(\.function) == [.distance(here)])
        #expect(query.include == [Inclusion(name: "metres", keyPath: distance.keyPath, function: .distance(here))])
    }

    @Test func filtersAddUp() throws {
        let query = try RecordQuery("note").filter(Field("a") == 1).filter(Field("b") == 2)
        #expect(query.predicate == .and([Field("a") == 1, Field("b") == 2]))
        #expect(throws: SkyrowError.self) { try RecordQuery("_auth") }
    }

    @Test func draftsAreMadeOfLiterals() throws {
        let draft = try RecordDraft("note/1", ["title": "Milk", "stars": 3, "price": 1.5, "done": false])
        #expect(draft.fields.map(\.value) == [.string("Milk"), .integer(3), .number(1.5), .boolean(false)])
        let tagged = try RecordDraft("note/1", ["tags": ["shop", "food"], "ratings": [1, 2]])
        #expect(tagged.fields.map(\.value) == [.array(["shop", "food"]), .array([.integer(1), .integer(2)])])
        #expect(throws: SkyrowError.self) { try RecordDraft("note", [:]) }
        #expect(throws: SkyrowError.self) { try RecordDraft("note/1", ["_id": 1]) }
        #expect(try RecordDraft.new("note", [:]).id != RecordDraft.new("note", [:]).id)
    }

    @Test func operatorsAreMadeOfLiterals() throws {
        let draft = try RecordDraft(
            "note/1",
            ["title": "Milk"],
            applying: [
                "views": .increment(by: 1), "price": .multiply(by: 1.5), "best": .max(9), "tags": .push("a", "b"),
                "seen": .addToSet("a", 1, true, .null, .reference(RecordID("note/2"))), "first": .push("x", at: .first),
                "old": .pull("a", .json(Data("[1]".utf8))), "queue": .popFirst, "list": .setElement(2, to: "x"),
                "stats": .all(.setMember("a.b", to: 1.5), .setMember("wins", .increment, 1), .unsetMember("c")),
                "made": .setOnInsert("web"), "gone": .unset,
            ]
        )
        let writer = JSONWriter()
        writer.draft(draft)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"_id":"note/1","title":"Milk","views":{"$op":"inc","$val":1},"price":{"$op":"mul","$val":1.5},"#
                + #""best":{"$op":"max","$val":9},"tags":{"$op":"push","$val":["a","b"]},"#
                + #""seen":{"$op":"add_to_set","$val":["a",1,true,null,{"$type":"ref","$id":"note/2"}]},"#
                + #""first":{"$op":"push","$val":["x"],"$at":0},"old":{"$op":"pull","$val":["a",[1]]},"#
                + #""queue":{"$op":"pop","$from":"first"},"list":{"$op":"set_at","$index":2,"$val":"x"},"#
                + #""stats":{"$op":"all","$val":[{"$op":"set_path","$path":"a.b","$val":1.5},"#
                + #"{"$op":"set_path","$path":"wins","$val":{"$op":"inc","$val":1}},{"$op":"unset_path","$path":"c"}]},"#
                + #""made":{"$op":"set_on_insert","$val":"web"},"gone":{"$op":"unset"}}"#
        )
        // What an application writes is what the service reads.
        let read = try JSONDocument(writer.bytes).withRoot { json throws(SkyrowError) in try RecordDraft(json) }
        #expect(read == draft)
    }

    @Test func valuesAreReadAsWhatTheyAre() throws {
        #expect(RecordValue.integer(3).numberValue == 3)
        #expect(RecordValue.number(3).integerValue == 3)
        #expect(RecordValue.number(3.5).integerValue == nil)
        #expect(RecordValue.string("x").stringValue == "x")
        #expect(RecordValue.string("x").integerValue == nil)
        #expect(RecordValue.boolean(true).booleanValue == true)
        #expect(RecordValue.bytes([1]).bytesValue == [1])
        let photo = try Asset(
            #require(AssetName("7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png")),
            url: "https://x.org/f"
        )
        #expect(RecordValue.asset(photo).assetValue?.url == photo.url)
        #expect(RecordValue.string(photo.name.rawValue).assetValue == nil)
        #expect(try RecordValue.reference(RecordID("a/1")).referenceValue == RecordID("a/1"))
        let place = try Location(latitude: 22.28, longitude: 114.15)
        #expect(try RecordValue.location(latitude: 22.28, longitude: 114.15).locationValue == place)
        #expect(RecordValue.string("POINT(1 2)").locationValue == nil)
        #expect(RecordValue.geometry(.point(place)).geometryValue == .point(place))
        #expect(RecordValue.location(place).geometryValue == nil)
        #expect(Field("area").contains(place) == Field("area").contains(.location(place)))
        #expect(throws: SkyrowError.self) { try RecordValue.location(latitude: 91, longitude: 0) }
        #expect(try RecordValue.json(Data("[1, 2]".utf8)).jsonValue == Data("[1, 2]".utf8))
        #expect(RecordValue.array(["a", .null]).arrayValue == ["a", .null])
        let list = #"[1, "a", null, {"$type":"ref","$id":"tag/1"}, [2]]"#
        #expect(
            try RecordValue.json(Data(list.utf8)).arrayValue
                == [1, "a", .null, .reference(RecordID("tag/1")), .json(Data("[2]".utf8))]
        )
        #expect(try RecordValue.json(Data("{}".utf8)).arrayValue == nil && RecordValue.string("a").arrayValue == nil)
        for text in ["1", "\"a\"", "[", ""] {
            #expect(throws: SkyrowError.self) { try RecordValue.json(Data(text.utf8)) }
        }
    }

    @Test func datesKeepTheirMicroseconds() {
        let date = Date(timeIntervalSince1970: 1_549_521_779.871181)
        #expect(Timestamp(date) == Timestamp(microseconds: 602_836_979_871_181))
        #expect(abs(Timestamp(date).date.timeIntervalSince(date)) < 1e-6)
        #expect(RecordValue.date(date).dateValue.map { abs($0.timeIntervalSince(date)) < 1e-6 } == true)
        #expect(Timestamp.infinity.date == .distantFuture)
        #expect(Timestamp(Date(timeIntervalSince1970: .infinity)) == .infinity)
        #expect(Timestamp(Date(timeIntervalSince1970: -.infinity)) == .negativeInfinity)
    }
}

import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Queries that are nearly right: every one is a statement, or is refused with an error that names what is wrong.
@Suite(.timeLimit(.minutes(60))) struct GrammarMutationTests {
    private static let queriesEach = seededCases(3000)

    /// One of each form, to begin with.
    private static let forms = [
        #"["and",["eq",{"$type":"keypath","$val":"title"},"x"],["or",["neq",{"$val":"stars"},3],["not",["gt",{"$val":"score"},1.5]]]]"#,
        #"["none",["lte",{"$val":"due"},{"$type":"date","$date":"2020-01-01T00:00:00Z"}],["gte",{"$val":"_id"},"a"]]"#,
        #"["between",{"$val":"stars"},1,"9"]"#, #"["like",{"$val":"title"},"a%b_\\%"]"#,
        #"["ilike",{"$val":"category.name"},"%x%"]"#, #"["starts_with",["func","fold",{"$val":"title"}],"Str"]"#,
        #"["ends_with",{"$val":"next.next.title"},"II"]"#, #"["regex",{"$val":"title"},"^(a|b)+[^c-f]{2,3}$","i"]"#,
        #"["in",{"$val":"stars"},[1,2,null]]"#, #"["nin",{"$val":"title"},["a",""]]"#, #"["in","a",{"$val":"tags"}]"#,
        #"["contains",{"$val":"labels"},"a"]"#, #"["contains_all",{"$val":"tags"},[{"a":1},[2]]]"#,
        #"["contains_any",{"$val":"shorts"},[1,2]]"#, #"["contained_by",{"$val":"labels"},["a"]]"#,
        #"["exists",{"$val":"tags.a.0"},true]"#, #"["gt",["func","size",{"$val":"labels"}],2]"#,
        #"["lt",{"$val":"tags.n","$as":"number"},3]"#, #"["eq",{"$val":"tags"},{"$type":"json","$val":{"a":[1]}}]"#,
        #"["eq",{"$val":"category"},{"$type":"ref","$id":"category/1"}]"#,
        #"["eq",{"$val":"data"},{"$type":"bytes","$base64":"AA=="}]"#,
        #"["in_query",{"$val":"category"},{"record_type":"category","predicate":["eq",{"$val":"name"},"x"],"limit":3}]"#,
        #"["not_in_query",{"$val":"title"},{"record_type":"category","key":"name","sort":[[{"$val":"rank"},"desc"]],"limit":2}]"#,
        #"["any",{"$val":"labels"},["starts_with",{"$val":"$"},"a"]]"#,
        #"["all",{"$val":"categories"},["gt",{"$val":"$.rank"},1]]"#,
        #"["any",{"$val":"tags"},["eq",{"$val":"$.a.b"},1]]"#, #"["lt",{"$val":"stars"},{"$val":"category.rank"}]"#,
        #"["near",{"$val":"place"},{"$type":"geo","$lng":1,"$lat":2},500]"#,
        #"["within_box",{"$val":"place"},{"$type":"geo","$lng":1,"$lat":2},{"$type":"geo","$lng":3,"$lat":4}]"#,
        #"["lt",["func","distance",{"$val":"place"},{"$type":"geo","$lng":1,"$lat":2}],10]"#,
        #"["eq",{"$val":"friends"},{"$type":"ref","$id":"note/1"}]"#, #"["exists",{"$val":"next.friends"},false]"#,
        #"["and",["related_to",{"$type":"ref","$id":"note/1"},"friends"],["contains_all",{"$val":"friends"},["1","2"]]]"#,
        #"["any",{"$val":"friends"},["eq",["func","size",{"$val":"friends"}],3]]"#,
        #"["like",{"$val":"friends.title"},"a%"]"#,
        #"["within_polygon",{"$val":"place"},[{"$type":"geo","$lng":1,"$lat":2},{"$type":"geo","$lng":3,"$lat":4},{"$type":"geo","$lng":1,"$lat":4}]]"#,
    ]
    private static let others = [
        #","sort":[[{"$val":"title"},"desc","nulls_last"],[["func","fold",{"$val":"title"}],"asc"]]"#,
        #","sort":[[["func","collate",{"$val":"title"},"sv"],"desc"]]"#,
        #","include":{"c":{"$val":"category"},"n":{"$val":"next.category"}}"#, #","select":["title","stars"]"#,
        #","omit":["tags"],"limit":3,"offset":2"#, #","count":"estimate","last":true"#, "",
    ]
    /// What stands in the place of something else.
    private static let pieces = [
        "null", "true", "0", "-1", "1.5", "1e308", "9223372036854775808", "\"\"", "\"x\"", "\"\\u0000\"", "\"title\"",
        "[]",
        "{}", "[[]]", #"["func"]"#, #"["func","fold"]"#, #"["func","nowhere",{"$val":"title"}]"#,
        #"{"$val":"nowhere"}"#,
        #"{"$val":"title.x"}"#, #"{"$val":"next.next.next.next.next.next.next.next.next"}"#, #"{"$val":"$"}"#,
        #"{"$val":"_owner.username"}"#, #"{"$val":"username"}"#, #"{"$val":""}"#, #"{"$val":"tags..a"}"#,
        "9223372036854775807", "-9223372036854775808", "-1e-400", "4.9e-324",
        #"{"$type":"date","$date":"+999999-12-31T23:59:59Z"}"#,
        #"{"$type":"date","$date":"-999999-01-01T00:00:00+23:59"}"#,
        #"{"$type":"date","$date":"+294276-12-31T23:59:59.9999999Z"}"#,
        #"{"$type":"date","$date":"-004713-11-24T00:00:00Z"}"#,
        #"{"$type":"date","$date":"-infinity"}"#, #"{"$val":"tags.due","$as":"datetime"}"#,
        #"{"$type":"unknown"}"#, #"{"$type":"date","$date":"yesterday"}"#, #"{"$type":"ref","$id":"x"}"#,
        #"{"$type":"geo","$lng":181,"$lat":0}"#, #"{"$type":"seq"}"#, "\"and\"", "\"none\"", "\"in\"", "\"any\"",
        "\"near\"",
        "\"in_query\"", "\"asc\"", "\"category\"", #"["eq",{"$val":"title"},"x"]"#, "[1,2,3]",
        "\"" + String(repeating: "%a", count: 600) + "\"",
        String(repeating: "[", count: 40) + String(repeating: "]", count: 40),
    ]

    /// JSON that can be changed in one place.
    private indirect enum Tree {
        case leaf(String)
        case array([Tree])
        case object([(name: String, value: Tree)])

        init(_ json: JSONView) {
            if json.isArray {
                self = .array(json.elements.map { Tree($0) })
            } else if json.isObject {
                self = .object(json.members.map { (name: $0.0.string ?? "", value: Tree($0.1)) })
            } else {
                self = .leaf(String(decoding: json.source, as: UTF8.self))
            }
        }

        init(_ text: String) throws {
            self = try JSONDocument(Array(text.utf8)).withRoot { Tree($0) }
        }

        var text: String {
            switch self {
            case .leaf(let text): text
            case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
            case .object(let members):
                "{" + members.map { "\"\($0.name)\":\($0.value.text)" }.joined(separator: ",") + "}"
            }
        }

        var count: Int {
            switch self {
            case .leaf: 1
            case .array(let elements): 1 + elements.reduce(0) { $0 + $1.count }
            case .object(let members): 1 + members.reduce(0) { $0 + $1.value.count }
            }
        }

        /// The tree with a change at the node of this number; the number goes down on the way.
        func changing(_ number: inout Int, _ change: (Tree) -> Tree) -> Tree {
            number -= 1
            if number < 0 { return number == -1 ? change(self) : self }
            switch self {
            case .leaf: return self
            case .array(let elements): return .array(elements.map { $0.changing(&number, change) })
            case .object(let members):
                return .object(members.map { (name: $0.name, value: $0.value.changing(&number, change)) })
            }
        }

        /// Whether a path such as `predicate[2].key` leads somewhere, or to a member that is missing of something.
        func leads(along path: String) -> Bool {
            var current: Tree = self
            var rest = path[...]
            while !rest.isEmpty {
                if rest.hasPrefix("[") {
                    guard let end = rest.firstIndex(of: "]"),
                        let place = Int(rest[rest.index(after: rest.startIndex)..<end]),
                        case .array(let elements) = current
                    else { return false }
                    rest = rest[rest.index(after: end)...]
                    guard elements.indices.contains(place) else { return rest.isEmpty && place <= elements.count }
                    current = elements[place]
                } else {
                    if rest.hasPrefix(".") { rest = rest.dropFirst() }
                    guard case .object(let members) = current else { return false }
                    let end = rest.firstIndex { $0 == "[" || $0 == "." } ?? rest.endIndex
                    let name = String(rest[..<end])
                    rest = rest[end...]
                    // The last of its name counts.
                    guard let member = members.last(where: { $0.name == name }) else { return rest.isEmpty }
                    current = member.value
                }
            }
            return true
        }
    }

    private func mutated(_ tree: Tree, _ random: inout SeededGenerator) throws -> Tree {
        var number = Int.random(in: 1..<max(2, tree.count), using: &random)
        let kind = Int.random(in: 0..<6, using: &random)
        let piece = try Tree(Self.pieces.randomElement(using: &random) ?? "null")
        var place = Int.random(in: 0..<8, using: &random)
        return tree.changing(&number) { node in
            switch (kind, node) {
            case (0, .array(var elements)) where !elements.isEmpty:
                place %= elements.count
                elements.remove(at: place)
                return .array(elements)
            case (1, .array(var elements)):
                place %= elements.count + 1
                elements.insert(piece, at: place)
                return .array(elements)
            case (2, .array(var elements)) where elements.count > 1:
                elements.swapAt(place % elements.count, 0)
                return .array(elements)
            case (3, .object(var members)) where !members.isEmpty:
                members.remove(at: place % members.count)
                return .object(members)
            case (4, .array): return .array([.leaf("\"not\""), node])
            default: return piece
            }
        }
    }

    /// The notes, which have a relation besides.
    private static func catalog() throws -> SchemaCatalog {
        let notes = SchemaCatalog.notes
        let note = try #require(notes[type("note")])
        let friends = RecordColumn(
            field: field("friends"),
            identifier: "friends",
            type: .relation(note.name),
            oid: .bool,
            members: "note.friends"
        )
        let related = RecordTable(
            name: note.name,
            schema: note.schema,
            identifier: note.identifier,
            columns: note.columns + [friends]
        )
        let others = notes.tables.values.filter { $0.name != note.name }
        return SchemaCatalog(schema: notes.schema, version: notes.version, tables: others + [related])
    }

    @Test(arguments: 0..<8) func everyQueryIsAStatementOrNamesWhatIsWrong(part: Int) throws {
        var random = SeededGenerator(seed: SeededGenerator.seedOfRun &* 8 &+ UInt64(part))
        let access = RecordAccess(Caller(kind: .user("bob"), roles: []), in: .everyone)
        let catalog = try Self.catalog().visible(to: access.fields)
        var statements = 0
        for _ in 0..<Self.queriesEach {
            let form = Self.forms.randomElement(using: &random) ?? ""
            let other = Self.others.randomElement(using: &random) ?? ""
            var tree = try Tree(#"{"record_type":"note","predicate":\#(form)\#(other)}"#)
            for _ in 0..<Int.random(in: 1...3, using: &random) { tree = try mutated(tree, &random) }
            let text = tree.text
            do throws(SkyrowError) {
                let document: JSONDocument
                do { document = try JSONDocument(Array(text.utf8)) } catch { continue }
                let query = try document.withRoot { root throws(SkyrowError) in try QueryRequest(parameters: root).query
                }
                guard let table = catalog[query.type] else { continue }
                let statement = try QueryStatement(query, table: table, catalog: catalog, access: access)
                if statement.sql.bindings.failure != nil { Issue.record("A value cannot be sent: \(text)") }
                statements += 1
            } catch {
                let expected: Set<ErrorCode> = [
                    .badRequest, .invalidArgument, .notSupported, .recordQueryInvalid, .recordQueryDenied,
                ]
                if !expected.contains(error.code) { Issue.record("\(error): \(text)") }
                if let path = error.path, !tree.leads(along: path) {
                    Issue.record("\(path) is no element of \(text): \(error)")
                }
            }
        }
        // Some changes do no harm.
        #expect(statements > Self.queriesEach / 50)
    }
}

import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowActions

@Suite struct FunctionRegistryTests {
    private static let note = type("note")

    private static func handler(_ path: String) -> HandlerDescription {
        HandlerDescription(path: path, name: path, methods: ["GET"])
    }

    @Test func theFirstServerInTheSettingsHasAName() {
        let registry = FunctionRegistry(
            servers: [
                ("main", registration(functions: [function("hello"), function("a/b")])),
                ("mail", registration(functions: [function("hello", need: .master), function("send")])),
            ],
            database: []
        )
        #expect(registry["hello"]?.server == "main" && registry["hello"]?.description.need == .nothing)
        #expect(registry["send"]?.server == "mail")
        #expect(registry["nothing"] == nil)
        #expect(registry.functions.map(\.function.description.name.rawValue) == ["a/b", "hello", "send"])
    }

    @Test(
        arguments: [
            ("hello", "hello"), ("a:b", "a/b"), ("a/b", "a/b"), ("both:x", "both:x"), ("A:b", nil), ("", nil),
        ] as [(String, String?)]
    )
    func aPathNamesAFunctionWithSlashesOrColons(name: String, found: String?) {
        let registry = FunctionRegistry(
            servers: [
                ("main", registration(functions: ["hello", "a/b", "both/x", "both:x"].map { function($0) }))
            ],
            database: []
        )
        #expect(registry.entry(v1: name)?.function.description.name.rawValue == found)
    }

    @Test func hooksRunInTheOrderOfServersThoseOfAllTypesFirst() {
        func hooks(_ names: (String, RecordTypeName?)...) -> FunctionRegistration {
            registration { $0.hooks = names.map { HookDescription($0.0, .beforeSave, on: $0.1) } }
        }
        let registry = FunctionRegistry(
            servers: [
                ("main", hooks(("typed", Self.note), ("all", nil), ("other", type("task")))),
                ("mail", hooks(("late", nil))),
            ],
            database: []
        )
        #expect(registry.hooks(.beforeSave, on: Self.note).map(\.description.name) == ["all", "typed", "late"])
        #expect(registry.hooks(.afterSave, on: Self.note).isEmpty)
        #expect(registry.hasHooks(.beforeSave) && !registry.hasHooks(.afterSave))
    }

    @Test(
        arguments: [
            ("/web/hello", "/web/hello"), ("/web/hello/", "/web/"), ("/web/", "/web/"), ("/web/a/b", "/web/a/"),
            ("/web", nil), ("/other", nil), ("/", nil),
        ] as [(String, String?)]
    )
    func theLongestMatchIsTheHandlerOfAPath(path: String, found: String?) {
        let registry = FunctionRegistry(
            servers: [
                ("main", registration { $0.handlers = ["/web/", "/web/a/", "/web/hello"].map(Self.handler) })
            ],
            database: []
        )
        #expect(registry.handler(of: path)?.description.path == found)
    }

    /// F-7
    @Test func aServerThatStandsLaterIsRefusedWhatAnEarlierOneHas() {
        let main = registration(functions: [function("hello")]) {
            $0.handlers = [Self.handler("/web/")]
            $0.providers = ["com.example"]
        }
        let registry = FunctionRegistry(servers: [("main", main)], database: [])
        let order = ["main", "mail"]
        let rows: [(FunctionRegistration, String?)] = [
            (
                registration(functions: [function("hello")]),
                "The servers main and mail both register the function hello."
            ),
            (
                registration { $0.handlers = [Self.handler("/web/")] },
                "The servers main and mail both register the handler /web/."
            ),
            (
                registration { $0.providers = ["com.example"] },
                "The servers main and mail both register the provider com.example."
            ),
            (registration(functions: [function("other")]), nil),
        ]
        for (added, sentence) in rows {
            #expect(registry.conflict(of: added, of: "mail", in: order) == sentence)
            // The one that stands earlier takes the name.
            #expect(registry.conflict(of: added, of: "mail", in: ["mail", "main"]) == nil)
        }
        #expect(registry.conflict(of: main, of: "main", in: order) == nil)
        let both = registry.replacing(rows[0].0, of: "mail", in: ["mail", "main"])
        #expect(both["hello"]?.server == "mail")
    }

    @Test func onlyServersThatRegisteredAnEventHearOfIt() {
        let registry = FunctionRegistry(
            servers: [("main", registration()), ("mail", registration { $0.events = ["schema-changed"] })],
            database: []
        )
        #expect(registry.servers(hearing: "schema-changed") == ["mail"])
        #expect(registry.servers(hearing: "server-ready").isEmpty)
    }
}

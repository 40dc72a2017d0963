import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowHTTP

/// What the manual and `skyrow types typescript` say of a shape.
@Suite struct ActionTypesTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let shape: JSONShape
        let typeScript: String
        let words: String
        var bounds: String?

        var testDescription: String { typeScript }
    }

    static let rows = [
        Row(shape: .any, typeScript: "unknown", words: "any value"),
        Row(shape: .boolean, typeScript: "boolean", words: "boolean"),
        Row(shape: .integer(), typeScript: "number", words: "integer"),
        Row(shape: .integer(minimum: 0), typeScript: "number", words: "integer"),
        Row(shape: .integer(minimum: 1), typeScript: "number", words: "integer", bounds: "from 1"),
        Row(shape: .integer(minimum: 0, maximum: 1000), typeScript: "number", words: "integer", bounds: "0 to 1000"),
        Row(shape: .integer(maximum: 600_000), typeScript: "number", words: "integer", bounds: "0 to 600,000"),
        Row(shape: .integer(minimum: 2, maximum: 2), typeScript: "2", words: "`2`"),
        Row(shape: .string(), typeScript: "string", words: "string"),
        Row(shape: .string(maximum: 64), typeScript: "string", words: "string", bounds: "up to 64 bytes"),
        Row(shape: .dateTime, typeScript: "string", words: "instant", bounds: "RFC 3339"),
        Row(shape: .oneOfStrings(["OK"]), typeScript: #""OK""#, words: "`OK`"),
        Row(shape: .oneOfStrings(["a", "b", "c"]), typeScript: #""a" | "b" | "c""#, words: "`a`, `b` or `c`"),
        Row(
            shape: .array(of: .string(maximum: 64), maximum: 10_000),
            typeScript: "string[]",
            words: "array of strings",
            bounds: "up to 10,000, each up to 64 bytes"
        ),
        Row(
            shape: .array(of: .oneOfStrings(["a", "b"]), minimum: 1, maximum: 2),
            typeScript: #"("a" | "b")[]"#,
            words: "array of `a` or `b`",
            bounds: "1 to 2"
        ),
        Row(
            shape: .array(of: .nullable(.boolean)),
            typeScript: "(boolean | null)[]",
            words: "array of booleans or null"
        ),
        Row(shape: .array(of: .array(of: .any)), typeScript: "unknown[][]", words: "array of arrays of values"),
        Row(
            shape: .nullable(.array(of: .named(.accessEntry))),
            typeScript: "AccessEntry[] | null",
            words: "[access list](access.md#access-lists) or null"
        ),
        Row(shape: .tuple([.string(), .integer()], rest: nil), typeScript: "[string, number]", words: "array"),
        Row(
            shape: .tuple([.string()], rest: .either([.string(), .boolean])),
            typeScript: "[string, ...(string | boolean)[]]",
            words: "array"
        ),
        Row(shape: .object([]), typeScript: "{ [name: string]: never }", words: "empty object"),
        Row(shape: .object([], others: .any), typeScript: "{ [name: string]: unknown }", words: "object"),
        Row(
            shape: .object([], others: .integer()),
            typeScript: "{ [name: string]: number }",
            words: "object of integers"
        ),
        Row(
            shape: .object([
                JSONMember("a", .string(maximum: 3), isRequired: true, "A text."), JSONMember("b", .nullable(.boolean)),
            ]),
            typeScript: "{\n  /** A text. Up to 3 bytes. */\n  a: string\n  b?: boolean | null\n}",
            words: "object with `a`, `b`"
        ),
        Row(
            shape: .object([JSONMember("a", .object([JSONMember("$b", .any)]))], others: .named(.value)),
            typeScript: "{\n  a?: {\n    $b?: unknown\n  }\n  [name: string]: unknown\n}",
            words: "object"
        ),
        Row(
            shape: .object([JSONMember("a", .any, "x */ y")]),
            typeScript: "{\n  /** x * / y */\n  a?: unknown\n}",
            words: "object with `a`"
        ),
        Row(shape: .either([.boolean, .oneOfStrings(["a"])]), typeScript: #"boolean | "a""#, words: "boolean or `a`"),
        Row(shape: .nullable(.oneOfStrings(["a", "b"])), typeScript: #""a" | "b" | null"#, words: "`a`, `b` or null"),
        Row(
            shape: .either([.named(.record), .named(.recordDraft)]),
            typeScript: "Record | RecordDraft",
            words: "[record](values.md#the-form-of-a-record)"
        ),
        Row(shape: .named(.status), typeScript: "Status", words: #"`{"status": "OK"}`"#),
        Row(
            shape: .array(of: .named(.index)),
            typeScript: "Index[]",
            words: "array of [indexes](indexes.md#kinds-and-states)"
        ),
    ]

    @Test(arguments: rows) func aShapeIsAType(_ row: Row) {
        #expect(TypeScriptDeclaration.type(row.shape) == row.typeScript)
        #expect(row.shape.words() == row.words)
        #expect(row.shape.bounds == row.bounds)
    }

    /// Names of types are unique and declared, and brackets pair.
    @Test func theDeclarationIsWellFormed() {
        let text = TypeScriptDeclaration.text(of: ActionTable.all.map(\.description))
        let declared = text.matches(of: /(?m)^export (?:interface|type) (\w+)/).map { String($0.1) }
        #expect(Set(declared).count == declared.count)
        #expect(declared.count == JSONShapeName.allCases.count + 2 * ActionTable.all.map(\.description).count + 1)
        let code = text.replacing(/\/\*\*[\s\S]*?\*\/|\/\/[^\n]*|"[^"\n]*"/, with: "")
        var open: [Character] = []
        let pairs: [Character: Character] = ["}": "{", "]": "[", ")": "("]
        for character in code {
            if pairs.values.contains(character) { open.append(character) }
            if let start = pairs[character] { #expect(open.popLast() == start) }
        }
        #expect(open.isEmpty)
        // Only names of declared types begin with a capital letter.
        for name in code.matches(of: /\b[A-Z]\w*/).map({ String($0.0) }) { #expect(declared.contains(name), "\(name)") }
        let entries = text.matches(of: /(?m)^  "(\S+)": \{ parameters: \w+; result: \w+ \}$/).map { String($0.1) }
        #expect(entries == ActionTable.all.map(\.description).map(\.name.rawValue))
    }

    @Test func anActionHasItsParametersAndResult() {
        let text = TypeScriptDeclaration.text(of: [Actions.roleAdd.description])
        let expected = """
            /** The parameters of `role:add`. */
            export interface RoleAddParameters {
              /** The name of the role. Up to 64 bytes. */
              role: string
              /** The ids of users. Up to 10,000, each up to 255 bytes. */
              users?: string[] | null
              /** The names of roles. Up to 100, each up to 64 bytes. */
              roles?: string[] | null
            }

            /** The result of `role:add`. */
            export interface RoleAddResult {
              /** How many were not in the role before. */
              added: number
            }

            /** The parameters and the result of every action, by its name. */
            export interface Actions {
              /**
               * Adds users and roles to a role; the users of these roles then have it, too.
               *
               * Needs a logged-in user or the master key.
               */
              "role:add": { parameters: RoleAddParameters; result: RoleAddResult }
            }

            """
        #expect(text.hasSuffix(expected))
    }

    private static let kept = """
        # A page

        <!-- parameters and result of role:add -->
        stale
        <!-- end -->

        <!-- parameters and result of me -->
        <!-- end -->
        <!-- members of Status -->
        | `status` |
        <!-- end -->
        <!-- parameters and result of nothing -->
        stays
        <!-- end -->
        <!-- parameters and result of role:list -->
        without an end
        <!-- members of Role -->
        """

    private static let filled = """
        # A page

        <!-- parameters and result of role:add -->

        | Parameter | Type | Meaning |
        |---|---|---|
        | `role` | string (up to 64 bytes), required | The name of the role. |
        | `users` | array of strings (up to 10,000, each up to 255 bytes) | The ids of users. |
        | `roles` | array of strings (up to 100, each up to 64 bytes) | The names of roles. |

        | Result | Type | Meaning |
        |---|---|---|
        | `added` | integer | How many were not in the role before. |

        <!-- end -->

        <!-- parameters and result of me -->

        No parameters.

        Result: [account with an access token](accounts.md#the-result-of-a-log-in).

        <!-- end -->
        <!-- members of Status -->

        | Member | Type |
        |---|---|
        | `status` | `OK` |

        <!-- end -->
        <!-- parameters and result of nothing -->
        stays
        <!-- end -->
        <!-- parameters and result of role:list -->
        without an end
        <!-- members of Role -->
        """

    @Test func thePageIsFilledBetweenItsMarkers() {
        let tables = ProtocolTables([Actions.roleAdd.description, Actions.me.description, Actions.roleList.description])
        #expect(tables.filled(Self.kept) == Self.filled)
        #expect(tables.filled(Self.filled) == Self.filled)
    }
}

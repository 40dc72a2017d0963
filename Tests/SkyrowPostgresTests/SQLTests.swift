import Testing

@testable import SkyrowPostgres

@Suite struct SQLTests {
    @Test func valuesBecomePlaceholdersAndNeverText() {
        let title = "x'; DROP TABLE note; --"
        let statement: SQL = "SELECT 1 FROM note WHERE title = \(title) AND stars > \(3)"
        #expect(statement.text == "SELECT 1 FROM note WHERE title = $1 AND stars > $2")
        #expect(statement.bindings.count == 2)
        #expect(statement.description == statement.text)
    }

    @Test func aSplicedStatementIsNumberedOn() {
        let inner: SQL = "stars BETWEEN \(1) AND \(5)"
        let statement: SQL = "SELECT 1 WHERE a = \("x") AND \(inner) AND \(inner) AND b = \(true)"
        #expect(
            statement.text
                == "SELECT 1 WHERE a = $1 AND stars BETWEEN $2 AND $3 AND stars BETWEEN $4 AND $5 AND b = $6"
        )
        #expect(statement.bindings.count == 6)
    }

    @Test func moreThanNinePlaceholdersAreNumberedOn() {
        let list = (0..<12).map { "\($0)" as SQL }.joined(separator: ", ")
        let statement: SQL = "SELECT \(0), \(list)"
        #expect(statement.text == "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13")
    }

    @Test func identifiersAreQuoted() throws {
        let name = "no\"te; DROP"
        let table = try SQLIdentifier(name)
        #expect(("SELECT * FROM \(table)" as SQL).text == "SELECT * FROM \"no\"\"te; DROP\"")
    }

    @Test(arguments: ["", "a\u{0}b", String(repeating: "é", count: 32)])
    func identifiersThatPostgreSQLCannotHoldAreRefused(name: String) {
        #expect(throws: PostgresError.self) { try SQLIdentifier(name) }
    }

    @Test func theLongestIdentifierIsAccepted() throws {
        #expect(try SQLIdentifier(String(repeating: "a", count: 63)).name.utf8.count == 63)
    }

    @Test(arguments: [(0, "\"v1\""), (7, "\"v8\""), (8, "\"v9\""), (99, "\"v100\"")])
    func anyNumberOfValuesHaveColumnNames(place: Int, expected: String) {
        #expect(SQLIdentifier(valueAt: place).quoted == expected)
    }

    @Test(arguments: [
        ("it's", "COMMENT ON TABLE t IS 'it''s'"),
        ("a\\b", "COMMENT ON TABLE t IS  E'a\\\\b'"),
    ])
    func literalsAreQuoted(literal: String, expected: String) {
        #expect(("COMMENT ON TABLE t IS \(literal: literal)" as SQL).text == expected)
    }

    @Test(arguments: [[], ["a"], ["a", nil, "", "b"], [nil], ["a\u{0}b", "c"]] as [[String?]])
    func anArrayIsBoundTheSameElementByElement(texts: [String?]) {
        var whole = PostgresBindings()
        whole.append(texts)
        whole.append(7)
        var elements = PostgresBindings()
        elements.append(array: .textArray, of: .text, count: texts.count) { place, encoder throws(PostgresError) in
            guard let text = texts[place] else { return false }
            try text.encode(into: &encoder)
            return true
        }
        elements.append(7)
        #expect(elements.encoder.bytes == whole.encoder.bytes)
        #expect(elements.values.map(\.type) == [.textArray, .int8])
        #expect(elements.values.map(\.offset) == whole.values.map(\.offset))
        #expect(elements.values.map(\.length) == whole.values.map(\.length))
        #expect(elements.failure == whole.failure)
    }

    @Test func otherValuesCanBeBoundToTheSameText() {
        let shape: SQL = "SELECT \(1) + \(2)"
        var values = PostgresBindings()
        values.append(3)
        values.append(4)
        #expect(shape.binding(values).text == shape.text)
        #expect(shape.binding(values).bindings.count == 2)
    }
}

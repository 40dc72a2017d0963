import SkyrowPostgres
import SkyrowTestSupport
import Testing

/// Values go to the server and come back the same, and the server's own text form says that it understood them.
@Suite struct ValueRoundTripTests {
    private func roundTrip<Value: PostgresEncodable & PostgresDecodable & Equatable>(
        _ rows: [(value: Value, text: String?)]
    ) async throws {
        try await withPostgresClient(TemporaryCluster.shared().url()) { client in
            for (value, text) in rows {
                let type = try SQL(trustedText: await client.read("SELECT \(value)").typeName)
                let result = try await client.read("SELECT \(value), \(value)::\(type)::text")
                let decoded: Value = try result.decode(row: 0, column: 0)
                #expect(decoded == value)
                let serverText = try result.decode(row: 0, column: 1, as: String?.self)
                #expect(serverText == text)
            }
        }
    }

    @Test func booleans() async throws {
        try await roundTrip([(true, "true"), (false, "false")])
    }

    @Test func integers() async throws {
        try await roundTrip([(Int16.min, "-32768"), (Int16.max, "32767"), (0, "0")])
        try await roundTrip([(Int32.min, "-2147483648"), (Int32.max, "2147483647"), (-1, "-1")])
        try await roundTrip([(Int64.min, "-9223372036854775808"), (Int64.max, "9223372036854775807")])
        try await roundTrip([(Int.min, "-9223372036854775808"), (9_007_199_254_740_993, "9007199254740993")])
        try await roundTrip([(UInt8.min, "0"), (UInt8.max, "255")])
    }

    @Test func floatingPoint() async throws {
        try await roundTrip([
            (Double.infinity, "Infinity"), (-Double.infinity, "-Infinity"), (-0.0, "-0"), (0.1, "0.1"),
            (Double.greatestFiniteMagnitude, "1.7976931348623157e+308"), (Double.leastNonzeroMagnitude, "5e-324"),
        ])
        try await roundTrip([(Float.infinity, "Infinity"), (Float(0.1), "0.1"), (Float.leastNonzeroMagnitude, "1e-45")])
    }

    @Test func notANumber() async throws {
        try await withPostgresClient(TemporaryCluster.shared().url()) { client in
            let result = try await client.read("SELECT \(Double.nan), \(Double.nan)::text, \([Float.nan])")
            #expect(try result.decode(row: 0, column: 0, as: Double.self).isNaN)
            #expect(try result.decode(row: 0, column: 1, as: String.self) == "NaN")
            #expect(try result.decode(row: 0, column: 2, as: [Float].self).first?.isNaN == true)
        }
    }

    @Test func text() async throws {
        for text in ["", "it's \\ \"q\" $1", "🇪🇺é\u{301}\n"] { try await roundTrip([(text, text)]) }
        try await roundTrip([(String(repeating: "é", count: 100_000), String(repeating: "é", count: 100_000))])
    }

    @Test func bytes() async throws {
        try await roundTrip([([UInt8](), "\\x"), ([0, 1, 255], "\\x0001ff")])
    }

    @Test func timestamps() async throws {
        let year2000 = PostgresTimestamp(microsecondsSince2000: 0)
        try await roundTrip([
            (year2000, "2000-01-01 00:00:00+00"),
            (PostgresTimestamp(microsecondsSince2000: -1), "1999-12-31 23:59:59.999999+00"),
            (PostgresTimestamp(microsecondsSince2000: .max), "infinity"), (.negativeInfinity, "-infinity"),
            // The earliest moment PostgreSQL has, and one of the last.
            (PostgresTimestamp(microsecondsSince2000: -211_813_488_000_000_000), "4714-11-24 00:00:00+00 BC"),
            (PostgresTimestamp(microsecondsSince2000: 9_223_371_331_199_999_999), "294276-12-31 23:59:59.999999+00"),
            (PostgresTimestamp(microsecondsSince2000: -64_500_000_000_000_000), "0045-01-29 05:20:00+00 BC"),
        ])
        #expect(PostgresTimestamp(microsecondsSince1970: 946_684_800_000_000) == year2000)
        #expect(PostgresTimestamp(microsecondsSince1970: Int64.min) == nil)
    }

    @Test func aDateBeforeChristKeepsItsYear() async throws {
        try await withPostgresClient(TemporaryCluster.shared().url()) { client in
            let result = try await client.read("SELECT timestamptz '0044-03-15 12:00:00+00 BC'")
            let date: PostgresTimestamp = try result.decode(row: 0, column: 0)
            let back = try await client.read("SELECT to_char(\(date) AT TIME ZONE 'UTC', 'YYYY-MM-DD BC')")
            #expect(try back.decode(row: 0, column: 0, as: String.self) == "0044-03-15 BC")
        }
    }

    @Test func json() async throws {
        try await roundTrip([
            (PostgresJSONB(#"{"a": [1, 2.50, null]}"#), #"{"a": [1, 2.50, null]}"#), (PostgresJSONB("null"), "null"),
        ])
    }

    @Test func catalogValues() async throws {
        try await roundTrip([(PostgresOID(rawValue: .max), "4294967295"), (.text, "25")])
        try await roundTrip([(PostgresName("pg_class"), "pg_class")])
    }

    @Test func arrays() async throws {
        try await roundTrip([([Int](), "{}"), ([Int.min, 0, .max], "{-9223372036854775808,0,9223372036854775807}")])
        try await roundTrip([(["a", "", "NULL", "x,\"y\""], #"{a,"","NULL","x,\"y\""}"#), ([], "{}")])
        try await roundTrip([([Int32?.none, 5, nil], "{NULL,5,NULL}"), ([], "{}")])
        try await roundTrip([([String?.none], "{NULL}"), ([nil, "x"], "{NULL,x}")])
        try await roundTrip([([true, false], "{t,f}")])
        try await roundTrip([([1.5, -.infinity], "{1.5,-Infinity}")])
        try await roundTrip([([[UInt8]](), "{}"), ([[], [1, 2]], #"{"\\x","\\x0102"}"#)])
        try await roundTrip([([PostgresTimestamp(microsecondsSince2000: .max)], "{infinity}")])
        try await roundTrip([([PostgresJSONB("{}")], "{\"{}\"}")])
        try await roundTrip([([PostgresOID.text], "{25}")])
        try await roundTrip([([Int16.min], "{-32768}")])
    }

    @Test func optionals() async throws {
        try await roundTrip([(Int?.none, nil), (5, "5")])
        try await roundTrip([([String]?.none, nil), (["a"], "{a}")])
        try await roundTrip([([UInt8]?.none, nil)])
    }

    @Test func randomArraysComeBackTheSame() async throws {
        var random = SeededGenerator.forTest()
        let rows = (0..<50).map { _ in
            (0..<Int.random(in: 0..<40, using: &random)).map { _ in
                Bool.random(using: &random) ? Int64.random(in: .min ... .max, using: &random) : nil
            }
        }
        try await withPostgresClient(TemporaryCluster.shared().url()) { client in
            for row in rows {
                let texts = row.map { $0.map { "\($0)" } }
                let bytes = row.map { number in number.map { [UInt8]("\($0)".utf8) } }
                let result = try await client.read("SELECT \(row), \(texts), \(bytes)")
                #expect(try result.decode(row: 0, column: 0, as: [Int64?].self) == row)
                #expect(try result.decode(row: 0, column: 1, as: [String?].self) == texts)
                #expect(try result.decode(row: 0, column: 2, as: [[UInt8]?].self) == bytes)
            }
        }
    }

    @Test func integersOfAnyWidthAreReadAsLongAsTheyFit() async throws {
        try await withPostgresClient(TemporaryCluster.shared().url()) { client in
            let result = try await client.read("SELECT 7::int2, 7::int4, 7::int8, 300::int4, 7::oid, '7'::xid8")
            for column in [0, 1, 2, 4, 5] {
                #expect(try result.decode(row: 0, column: column, as: Int.self) == 7)
                #expect(try result.decode(row: 0, column: column, as: Int16.self) == 7)
            }
            #expect(throws: PostgresError.self) { try result.decode(row: 0, column: 3, as: UInt8.self) }
        }
    }

    @Test func aValueOfAnotherTypeIsRefused() async throws {
        try await withPostgresClient(TemporaryCluster.shared().url()) { client in
            let result = try await client.read(
                "SELECT 1, 'x', NULL::text, ARRAY[1], ARRAY[[1], [2]], now(), ARRAY[NULL]"
            )
            func code<Value: PostgresDecodable>(_ column: Int, as type: Value.Type) -> PostgresError.Code? {
                do {
                    _ = try result.decode(row: 0, column: column, as: type)
                    return nil
                } catch {
                    return error.code
                }
            }
            #expect(code(0, as: String.self) == .undecodable)
            #expect(code(0, as: Bool.self) == .undecodable)
            #expect(code(0, as: [Int].self) == .undecodable)
            #expect(code(1, as: Int.self) == .undecodable)
            #expect(code(1, as: [UInt8].self) == .undecodable)
            #expect(code(1, as: PostgresJSONB.self) == .undecodable)
            #expect(code(2, as: String.self) == .undecodable)
            #expect(code(2, as: String?.self) == nil)
            #expect(code(3, as: [String].self) == .undecodable)
            #expect(code(3, as: [Int].self) == nil)
            #expect(code(4, as: [Int].self) == .undecodable)
            #expect(code(5, as: Double.self) == .undecodable)
            #expect(code(6, as: [String].self) == .undecodable)
            #expect(code(99, as: Int.self) == .undecodable)
        }
    }

    @Test func columnsCanBeReadInPlace() async throws {
        try await withPostgresClient(TemporaryCluster.shared().url()) { client in
            let result = try await client.read("SELECT 'abc', NULL, ''")
            #expect(result.withColumn(0, 0) { $0.map { Array($0) } } == Array("abc".utf8))
            #expect(result.withColumn(0, 1) { $0 == nil })
            #expect(result.withColumn(0, 2) { $0?.count } == 0)
            #expect(result.isNull(row: 0, column: 1))
            #expect(!result.isNull(row: 0, column: 2))
        }
    }

    @Test func aNameThatNoObjectCanHaveIsRefused() async throws {
        try await withPostgresClient(TemporaryCluster.shared().url()) { client in
            let error = try await #require(throws: PostgresError.self) {
                try await client.read("SELECT \(PostgresName(String(repeating: "a", count: 64)))")
            }
            #expect(error.code == .invalidValue)
        }
    }
}

extension PostgresResult {
    /// The name of the first column's type, for a cast.
    fileprivate var typeName: String {
        switch columnType(0) {
        case .bool: "bool"
        case .bytea: "bytea"
        case .name: "name"
        case .int8: "int8"
        case .int2: "int2"
        case .int4: "int4"
        case .oid: "oid"
        case .float4: "float4"
        case .float8: "float8"
        case .timestamptz: "timestamptz"
        case .jsonb: "jsonb"
        case .boolArray: "bool[]"
        case .byteaArray: "bytea[]"
        case .int2Array: "int2[]"
        case .int4Array: "int4[]"
        case .textArray: "text[]"
        case .int8Array: "int8[]"
        case .float8Array: "float8[]"
        case .oidArray: "oid[]"
        case .timestamptzArray: "timestamptz[]"
        case .jsonbArray: "jsonb[]"
        default: "text"
        }
    }
}

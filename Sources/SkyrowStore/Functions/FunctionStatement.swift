internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowProtocol

/// The statements of a call of a function: what runs before it, the call itself, and the JSON of its result.
///
/// ```sql
/// SELECT set_config('skyrow.user_id', $1, true), set_config('skyrow.roles', $2::text, true), …
/// "app"."nearby"("lat" => CAST($1 AS double precision), "lng" => CAST($2 AS double precision))
/// ```
///
/// Arguments are named, so that those with defaults may be left out. An instant of the result has the form that it has in a
/// record, also in a column; other values have the form of `to_jsonb`.
struct FunctionStatement {
    /// Upper bound on the values of a function that returns a set of anything but records.
    static let maximumValues: Int64 = 1000
    /// Upper bound on the bytes of a result that is no record.
    static let maximumBytes: Int64 = 8 << 20

    /// Sets the caller, the time limit and, for a function that only reads, that the transaction is read-only.
    let prelude: PostgresPrelude
    let call: SQL
    private let function: SQLFunction
    private let schema: SQLIdentifier

    /// - Parameters:
    ///   - arguments: an object by name, or an array in the order of the parameters; nil for none.
    ///   - timeLimit: how long the function may run.
    ///
    /// Throws `108 InvalidArgument` for an argument that is missing or unknown, or that its parameter does not take.
    init(
        _ function: SQLFunction,
        _ arguments: JSONText?,
        by caller: Caller,
        in schema: SQLIdentifier,
        timeLimit: Duration
    ) throws {
        let given = try Self.values(of: arguments, for: function)
        let named = try given.map { argument, value in "\(try SQLIdentifier(argument.name)) => \(value)" as SQL }
        call = "\(schema).\(try SQLIdentifier(function.routine))(\(named.joined(separator: ", ")))"
        let judged = given.filter { FunctionArgument($0.argument).isJudgedByPostgres }.map(\.value)
        prelude = PostgresPrelude(
            sql: Self.prelude(function, caller, schema, timeLimit, judging: judged),
            timeLimit: timeLimit
        )
        self.function = function
        self.schema = schema
    }

    private static func values(
        of arguments: JSONText?,
        for function: SQLFunction
    ) throws(SkyrowError) -> [(argument: SQLFunction.Argument, value: SQL)] {
        let document: JSONDocument
        do throws(JSONParseError) {
            document = try JSONDocument(arguments?.utf8 ?? Array("{}".utf8))
        } catch {
            throw SkyrowError(unreadable: error)
        }
        return try document.withRoot { json throws(SkyrowError) -> [(argument: SQLFunction.Argument, value: SQL)] in
            let parameters = function.arguments
            var given: [(argument: SQLFunction.Argument, value: SQL)] = []
            if json.isArray {
                guard json.count <= parameters.count else {
                    throw .invalidArgument(
                        "The function has \(parameters.count) parameters, not \(json.count).",
                        "args"
                    )
                }
                for (argument, value) in zip(parameters, json.elements) {
                    given.append((argument, try FunctionArgument(argument).value(of: value)))
                }
            } else if json.isObject {
                for (name, value) in json.uniqueMembers {
                    guard let argument = parameters.first(where: { $0.name == name }) else {
                        throw .unknownArgument(name)
                    }
                    given.append((argument, try FunctionArgument(argument).value(of: value)))
                }
            } else {
                throw .invalidArgument("The arguments of a function are an object, or an array.", "args")
            }
            for argument in parameters where !argument.hasDefault {
                guard given.contains(where: { $0.argument.name == argument.name }) else {
                    throw .invalidArgument("The function needs the argument \"\(argument.name)\".", argument.name)
                }
            }
            // In the order of the parameters, so that there are few texts to prepare.
            return parameters.compactMap { parameter in given.first { $0.argument.name == parameter.name } }
        }
    }

    private static func prelude(
        _ function: SQLFunction,
        _ caller: Caller,
        _ schema: SQLIdentifier,
        _ timeLimit: Duration,
        judging values: [SQL]
    ) -> SQL {
        // A key with scopes may do less than the master key, and a function does not know its scopes.
        let isMaster = String(caller.isMaster && caller.key == nil)
        let path = "\(schema.quoted), postgis, pg_temp"
        var sql: SQL = """
            SELECT set_config('skyrow.user_id', \(caller.userID?.rawValue ?? ""), true), \
            set_config('skyrow.roles', \(caller.roles.map(\.rawValue))::text, true), \
            set_config('skyrow.is_master', \(isMaster), true), \
            set_config('search_path', \(path), true), \
            set_config('statement_timeout', \(String(timeLimit.wholeMilliseconds)), true)
            """
        if function.isReadOnly { sql.append(raw: ", set_config('transaction_read_only', 'on', true)") }
        for value in values { sql += ", \(value) IS NULL" }
        return sql
    }

    // MARK: Results

    /// The statement of a function that returns no records: one row with the JSON of the result, or NULL.
    ///
    /// A result that is too large fails the statement, so that what the function changed is undone.
    var result: SQL {
        """
        SELECT CASE WHEN "r"."n" > \(Self.maximumValues) \
        THEN \(schema)._refuse_result('A function can return at most 1000 values; return fewer, or records of a type.') \
        WHEN octet_length("r"."v") > \(Self.maximumBytes) \
        THEN \(schema)._refuse_result('The result of the function is too large for one response.') \
        ELSE "r"."v" END FROM (\(function.result == .value ? value : values) OFFSET 0) AS "r"
        """
    }

    private var value: SQL {
        if function.resultType == "void" { return "SELECT 1 AS \"n\", NULL::text AS \"v\" FROM \(call) AS \"t\"" }
        if function.columns.isEmpty { return "SELECT 1 AS \"n\", \(json(call, function.resultType))::text AS \"v\"" }
        // A subquery, since naming columns of the call itself would repeat it.
        return """
            SELECT 1 AS "n", (\(json("\"t\".\"v\"", columnsOf: "(\"t\".\"v\")")))::text AS "v" \
            FROM (SELECT \(call) AS "v" OFFSET 0) AS "t"
            """
    }

    private var values: SQL {
        let rows: SQL =
            function.columns.isEmpty
            ? "SELECT \(json("\"t\".\"v\"", function.resultType)) AS \"v\" FROM \(call) AS \"t\" (\"v\")"
            : """
            SELECT \(json("\"t\".*", columnsOf: "\"t\"")) AS "v" FROM (SELECT "f".* FROM \(call) AS "f") AS "t"
            """
        return """
            SELECT count(*) AS "n", \
            '[' || coalesce(string_agg(coalesce("e"."v"::text, 'null'), ','), '') || ']' AS "v" \
            FROM (\(rows) LIMIT \(Self.maximumValues + 1)) AS "e"
            """
    }

    /// The JSON of one value.
    private func json(_ value: SQL, _ type: String) -> SQL {
        type == Self.instantType ? "\(schema)._json_date(\(value))" : "to_jsonb(\(value))"
    }

    /// The JSON of a row, whose instants replace what `to_jsonb` makes of them.
    private func json(_ row: SQL, columnsOf columns: SQL) -> SQL {
        var sql: SQL = "to_jsonb(\(row))"
        for column in function.columns where column.type == Self.instantType {
            guard let name = try? SQLIdentifier(column.name) else { continue }
            sql += " || jsonb_build_object(\(column.name), \(schema)._json_date(\(columns).\(name)))"
        }
        return sql
    }

    private static let instantType = "timestamp with time zone"
}

extension SkyrowError {
    private static let shownName = 64

    fileprivate static func unknownArgument(_ name: String) -> SkyrowError {
        let name = String(name.prefix(shownName))
        return .invalidArgument("The function has no parameter \"\(name)\".", name)
    }
}

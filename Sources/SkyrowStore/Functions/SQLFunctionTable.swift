package import SkyrowModel
internal import SkyrowPostgres
package import SkyrowProtocol

/// The functions of the application that are exposed.
package struct SQLFunctionTable: StoreTable, Sendable {
    let store: RecordStore

    /// Returns the exposed functions by name. One that cannot be called is left out, and `skyrow doctor` says why.
    package func all() async throws(SkyrowError) -> [SQLFunction] {
        try await store.read(SQLFunction.columns) {
            "SELECT \($0) FROM \(schema)._exposed() AS known WHERE known.fault IS NULL ORDER BY known.name"
        }.compactMap(\.self)
    }

    /// Exposes a function, or exposes it in another way than before; returns its name.
    ///
    /// Throws `110 ResourceNotFound` if it does not exist, and `108 InvalidArgument` with the reason if it cannot be exposed.
    ///
    /// - Parameter event: names who does so.
    package func expose(
        _ exposure: FunctionExposure,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> FunctionName {
        let milliseconds = exposure.timeout.map { Double($0.wholeMilliseconds) }
        let recorded = store.recording(
            event,
            from: "exposed",
            data: """
                jsonb_build_object(
                    'name', exposed.name, 'function', \(exposure.function)::text, 'need', \(exposure.need.rawValue)::text,
                    'roles', \(exposure.roles.map(\.rawValue))::text[]
                )
                """
        )
        let name: String? = try await store.value(
            writing: """
                WITH exposed AS (
                    SELECT \(schema)._expose(
                        \(exposure.function), \(exposure.need.rawValue), \(exposure.name?.rawValue as String?),
                        \(exposure.roles.map(\.rawValue)), \(milliseconds as Double?) * interval '1 ms',
                        \(event.actor.text(of: nil) ?? "unknown")
                    ) AS name
                )\(recorded)
                SELECT exposed.name FROM exposed
                """
        )
        guard let name else { throw .unexpected }
        return try FunctionName(name)
    }

    /// Hides a function; throws `110 ResourceNotFound` if none is exposed by that name.
    package func hide(_ name: FunctionName, recording event: AuditEvent) async throws(SkyrowError) {
        let recorded = store.recording(
            event,
            from: "hidden WHERE hidden.was_exposed",
            data: "jsonb_build_object('name', \(name.rawValue)::text)"
        )
        let wasExposed: Bool? = try await store.value(
            writing: """
                WITH hidden AS (SELECT \(schema)._hide(\(name.rawValue)) AS was_exposed)\(recorded)
                SELECT hidden.was_exposed FROM hidden
                """
        )
        guard wasExposed == true else {
            throw SkyrowError(.resourceNotFound, "No function is exposed by this name.")
        }
    }
}

extension Duration {
    /// At least 1.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return max(1, seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}

extension SQLFunction {
    /// Of `known`, a row of `_exposed()`; nil for a function whose need this version does not know.
    fileprivate static let columns = Columns(
        {
            (
                name: String,
                signature: String,
                need: String,
                roles: [String],
                timeout: Int64?,
                routine: String,
                result: (isSet: Bool, type: String, record: String?, columns: [Column]),
                arguments: [Argument],
                isReadOnly: Bool
            ) -> SQLFunction? in
            guard let name = try? FunctionName(name), let need = FunctionExposure.Need(rawValue: need) else {
                return nil
            }
            let type = result.record.flatMap { try? RecordTypeName($0) }
            return SQLFunction(
                name: name,
                signature: signature,
                need: need.requirement(roles.map { RoleName($0) }),
                arguments: arguments,
                result: type.map { Result.records($0) } ?? (result.isSet ? .values : .value),
                isReadOnly: isReadOnly,
                timeout: timeout.map { .milliseconds($0) },
                routine: routine,
                resultType: result.type,
                columns: result.columns
            )
        },
        "known.name",
        "known.signature",
        "known.need",
        "known.roles",
        "known.timeout",
        "known.routine",
        resultColumns,
        argumentColumns,
        "known.is_read_only"
    )

    private static let resultColumns = Columns(
        {
            (
                isSet: Bool,
                type: String,
                record: String?,
                names: [String]?,
                types: [String]?
            ) -> (isSet: Bool, type: String, record: String?, columns: [Column]) in
            let columns = zip(names ?? [], types ?? []).map { Column(name: $0, type: $1) }
            return (isSet: isSet, type: type, record: record, columns: columns)
        },
        "known.is_set",
        "known.result",
        "known.record_type",
        "known.column_names",
        "known.column_types"
    )

    /// The last parameters are those with defaults.
    private static let argumentColumns = Columns(
        { (names: [String], types: [String], defaults: Int32) -> [Argument] in
            zip(names, types).enumerated().map { place, argument in
                Argument(
                    name: argument.0,
                    type: argument.1,
                    hasDefault: place >= names.count - Int(defaults)
                )
            }
        },
        "known.names",
        "known.types",
        "known.defaults"
    )
}

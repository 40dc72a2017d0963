import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

// The check of the policies for database logins (Documentation/Decisions/database-logins.md).

extension DoctorCheck {
    /// Rows: a `sentence` for each difference.
    package static let policies = DoctorCheck(
        "policies",
        "Policies for database logins",
        needsTables: true,
        .observation { try await $0.policyDifferences() },
        finding: { row, _ in
            DoctorFinding(
                .warning,
                row["sentence"],
                meaning:
                    "A role that represents a user may see or change more or less by SQL than that user through the service.",
                remedy: "Check the differences, and create the policies and rights again, or remove the extra ones.",
                commands: ["$ skyrow policies check", "$ skyrow policies apply"]
            )
        }
    )
}

extension DoctorProbe {
    /// Compares the policies with those last made. `skyrow policies check` also compares the rules that the service's
    /// settings add.
    fileprivate func policyDifferences() async throws -> [DoctorRow] {
        guard !migrations.contains(where: { $0["step"] == "migrate" }) else { return [] }
        let state = try await client.withTransaction(isolation: .repeatableRead) { transaction in
            let types = try await SchemaCatalog.load(of: schema, in: transaction).tables.keys
            return try await PolicyState.load(of: schema, tables: types.map(\.rawValue).sorted(), in: transaction)
        }
        return state.differences(from: nil).map { ["sentence": $0] }
    }
}

/// One step on the way to the present schema: a file of `sql/migrations`.
package struct Migration: Hashable, Sendable {
    package let version: Int
    /// The name of the file without its ending, `0001_initial`.
    package let name: String
    package let script: String

    package init(version: Int, name: String, script: String) {
        self.version = version
        self.name = name
        self.script = script
    }
}

extension Migration {
    /// The files of `sql/migrations`, which are part of the binary, in their order.
    package static let all: [Migration] = [
        Migration(version: 1, name: "0001_initial", script: text(PackageResources._001_initial_sql)),
        Migration(
            version: 2,
            name: "0002_announced_changes",
            script: text(PackageResources._002_announced_changes_sql)
        ),
        Migration(
            version: 3,
            name: "0003_access_list_length",
            script: text(PackageResources._003_access_list_length_sql)
        ),
        Migration(version: 4, name: "0004_sequences", script: text(PackageResources._004_sequences_sql)),
        Migration(version: 5, name: "0005_session_epochs", script: text(PackageResources._005_session_epochs_sql)),
        Migration(version: 6, name: "0006_login_forms", script: text(PackageResources._006_login_forms_sql)),
        Migration(version: 7, name: "0007_tombstone_names", script: text(PackageResources._007_tombstone_names_sql)),
        Migration(version: 8, name: "0008_text_order", script: text(PackageResources._008_text_order_sql)),
        Migration(version: 9, name: "0009_type_parts", script: text(PackageResources._009_type_parts_sql)),
        Migration(
            version: 10,
            name: "0010_application_settings",
            script: text(PackageResources._010_application_settings_sql)
        ),
        Migration(version: 11, name: "0011_secrets", script: text(PackageResources._011_secrets_sql)),
        Migration(version: 12, name: "0012_indexes", script: text(PackageResources._012_indexes_sql)),
        Migration(version: 13, name: "0013_parents", script: text(PackageResources._013_parents_sql)),
        Migration(version: 14, name: "0014_words", script: text(PackageResources._014_words_sql)),
        Migration(version: 15, name: "0015_relations", script: text(PackageResources._015_relations_sql)),
        Migration(version: 16, name: "0016_text_languages", script: text(PackageResources._016_text_languages_sql)),
        Migration(version: 17, name: "0017_access_lists", script: text(PackageResources._017_access_lists_sql)),
        Migration(version: 18, name: "0018_cost_of_words", script: text(PackageResources._018_cost_of_words_sql)),
        Migration(version: 19, name: "0019_json_values", script: text(PackageResources._019_json_values_sql)),
        Migration(version: 20, name: "0020_serial_words", script: text(PackageResources._020_serial_words_sql)),
        Migration(version: 21, name: "0021_class_rules", script: text(PackageResources._021_class_rules_sql)),
        Migration(version: 22, name: "0022_sessions", script: text(PackageResources._022_sessions_sql)),
        Migration(version: 23, name: "0023_guesses", script: text(PackageResources._023_guesses_sql)),
        Migration(version: 24, name: "0024_audit", script: text(PackageResources._024_audit_sql)),
        Migration(version: 25, name: "0025_roles", script: text(PackageResources._025_roles_sql)),
        Migration(version: 26, name: "0026_guess_locks", script: text(PackageResources._026_guess_locks_sql)),
        Migration(version: 27, name: "0027_codes_and_mail", script: text(PackageResources._027_codes_and_mail_sql)),
        Migration(version: 28, name: "0028_relation_entries", script: text(PackageResources._028_relation_entries_sql)),
        Migration(version: 29, name: "0029_keys", script: text(PackageResources._029_keys_sql)),
        Migration(version: 30, name: "0030_field_rules", script: text(PackageResources._030_field_rules_sql)),
        Migration(version: 31, name: "0031_identities", script: text(PackageResources._031_identities_sql)),
        Migration(version: 32, name: "0032_step_up", script: text(PackageResources._032_step_up_sql)),
        Migration(version: 33, name: "0033_account_deletion", script: text(PackageResources._033_account_deletion_sql)),
        Migration(version: 34, name: "0034_policies", script: text(PackageResources._034_policies_sql)),
        Migration(version: 35, name: "0035_invitations", script: text(PackageResources._035_invitations_sql)),
        Migration(version: 36, name: "0036_factors", script: text(PackageResources._036_factors_sql)),
        Migration(version: 37, name: "0037_provider_flows", script: text(PackageResources._037_provider_flows_sql)),
        Migration(version: 38, name: "0038_account_changes", script: text(PackageResources._038_account_changes_sql)),
        Migration(version: 39, name: "0039_password_policy", script: text(PackageResources._039_password_policy_sql)),
        Migration(version: 40, name: "0040_live_changes", script: text(PackageResources._040_live_changes_sql)),
        Migration(version: 41, name: "0041_change_feed", script: text(PackageResources._041_change_feed_sql)),
        Migration(version: 42, name: "0042_live_tickets", script: text(PackageResources._042_live_tickets_sql)),
        Migration(version: 43, name: "0043_field_questions", script: text(PackageResources._043_field_questions_sql)),
        Migration(
            version: 44,
            name: "0044_rules_of_every_field",
            script: text(PackageResources._044_rules_of_every_field_sql)
        ),
        Migration(
            version: 45,
            name: "0045_whole_publication",
            script: text(PackageResources._045_whole_publication_sql)
        ),
        Migration(
            version: 46,
            name: "0046_three_constraints",
            script: text(PackageResources._046_three_constraints_sql)
        ),
        Migration(version: 47, name: "0047_account_faults", script: text(PackageResources._047_account_faults_sql)),
        Migration(version: 48, name: "0048_history", script: text(PackageResources._048_history_sql)),
        Migration(version: 49, name: "0049_readers_of_lists", script: text(PackageResources._049_readers_of_lists_sql)),
        Migration(
            version: 50,
            name: "0050_valid_constraints",
            script: text(PackageResources._050_valid_constraints_sql)
        ),
    ]

    /// `sql/schema.sql`: what a new database gets at once instead of every step.
    package static let present: String = text(PackageResources.schema_sql)

    /// `sql/applications.sql`, which belongs to no application.
    package static let applications: String = text(PackageResources.applications_sql)

    private static func text(_ utf8: [UInt8]) -> String {
        String(decoding: utf8, as: UTF8.self)
    }
}

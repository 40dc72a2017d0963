package import SkyrowActions
package import SkyrowModel
import SkyrowStore

/// Settings of records and their types.
package final class RecordSettings: SettingGroup {
    package static let title = "Records"

    package init() {}

    package let isDevelopment = Setting.flag(
        "development",
        false,
        "Whether types and fields appear when they are first saved."
    ).ofApplications

    package let maximumAccessEntries = Setting.integer(
        "maximum-access-entries",
        AccessList.defaultMaximum,
        in: 1...AccessList.utmostMaximum,
        unit: "count",
        """
        How many entries an `_access` list may have, and how many subjects a rule of a type or a field. Long lists make every query that \
        meets them slower.
        """
    ).ofApplications

    package let sharedAccessLists = Setting<[RecordTypeName]>(
        "shared-access-lists",
        [],
        shown: "",
        .text("types"),
        mustBe: "names of record types with commas between them, such as note,album",
        "The record types whose `_access` lists every writer of a record may change, and not only its owner."
    ) { text in
        let names = text.split(separator: ",", omittingEmptySubsequences: true).map { try? RecordTypeName(String($0)) }
        let types = names.compactMap { $0 }
        return types.count == names.count ? types : nil
    }.ofApplications

    package let accessListReaders = Setting<ClassAccess.ListReaders?>(
        "access-list-readers",
        nil,
        shown: "writers",
        .choice("readers", of: ["writers"] + ClassAccess.ListReaders.allCases.map(\.rawValue)),
        mustBe: "writers, owner, update or read",
        """
        Who sees the whole `_access` list of a record, of those who may read it: who may change the list (`writers`), its owner alone, \
        all who may update it, or all (`read`). Others see what the list says of everyone and of all users, and no names.
        """
    ) { text in
        text == "writers" ? .some(nil) : ClassAccess.ListReaders(rawValue: text).map { .some($0) }
    }.ofApplications

    package let defaultAccess = Setting<AccessList?>(
        "default-access",
        nil,
        shown: "",
        .text("list"),
        mustBe: #"an access list, such as [{"public": true, "level": "read"}]"#,
        """
        The `_access` list of a new public record that brings none, of types without a `default_access` of their own. The profiles of \
        accounts take none from here.
        """
    ) { text in
        if text.isEmpty { return .some(nil) }
        let list = text.utf8.withContiguousStorageIfAvailable {
            AccessList(exportedJSON: UnsafeRawBufferPointer($0))
        }
        guard let list = list ?? nil, list.entries.count <= AccessList.defaultMaximum,
            list.entries.allSatisfy({ if case .field = $0.subject { false } else { true } })
        else { return nil }
        return .some(list)
    }.ofApplications

    package let isPublicDevelopment = Setting.flag(
        "public-development",
        false,
        "Whether development mode may be served on an address that other machines reach, where any client makes fields."
    )

    package let feedRetention = Setting.duration(
        "feed-retention",
        .seconds(30 * 86_400),
        in: .seconds(3600)...(.seconds(3650 * 86_400)),
        "For how long change tokens are good, and what was deleted is known to the change feed."
    ).ofApplications

    package let changeSource = Setting.choice(
        "change-source",
        LiveConfiguration.Source.auto,
        of: "source",
        mustBe: "auto, logical, polling or off",
        """
        Where live queries have changes from: PostgreSQL's log where it can be decoded and else from questions (`auto`), one of \
        both alone (`logical`, `polling`), or nowhere (`off`).
        """
    ).ofApplications

    package let liveScanLimit = Setting.integer(
        "live-scan-limit",
        1_000,
        in: 0...100_000,
        unit: "count",
        "How many live queries of a type every change may be compared with; those that ask for certain values are not counted."
    ).ofApplications

    package let liveMembers = Setting.integer(
        "live-members",
        10_000,
        in: 1...1_000_000,
        unit: "count",
        "How many records a live query may have whose changes come without the record before, as from questions."
    ).ofApplications

    package let liveQueryMemory = Setting.integer(
        "live-query-memory",
        256 << 20,
        in: 1 << 20...1 << 40,
        unit: "bytes",
        """
        How many bytes live queries may hold: conditions and their values, records that match where these are kept, and events that \
        wait for a beginning; as many again those that are asked again. One client has `client-share` of it.
        """
    ).ofApplications

    package let liveTransactionLimit = Setting.integer(
        "live-transaction-limit",
        10_000,
        in: 1...1_000_000,
        unit: "count",
        "How many rows a transaction may change whose changes are sent one by one; after one with more, live queries begin anew."
    ).ofApplications

    package let livePollInterval = Setting.duration(
        "live-poll-interval",
        .milliseconds(20),
        in: .milliseconds(1)...(.seconds(60)),
        "The pause between two questions for changes, where live queries ask for them."
    ).ofApplications
}

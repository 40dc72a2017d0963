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
        "Whether types and fields are created when they are first saved."
    ).ofApplications

    package let maximumAccessEntries = Setting.integer(
        "maximum-access-entries",
        AccessList.defaultMaximum,
        in: 1...AccessList.utmostMaximum,
        unit: "count",
        """
        The maximum number of entries of an `_access` list, and of subjects of a rule of a type or field. Long lists slow \
        down every query that meets them.
        """
    ).ofApplications

    package let sharedAccessLists = Setting<[RecordTypeName]>(
        "shared-access-lists",
        [],
        shown: "",
        .text("types"),
        mustBe: "names of record types separated by commas, such as note,album",
        "The record types whose `_access` lists every writer of a record may change, not only its owner."
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
        Who can read the whole `_access` list of a readable record: the users who may change the list (`writers`), only its `owner`, \
        all who may `update` it, or all (`read`). Others see only the entries for everyone and for all users.
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
        The `_access` list of new public records that are saved without one, for types without `default_access`. It does not \
        apply to profiles of accounts.
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
        "Whether development mode, in which any client can create fields, is allowed on an address that other machines can reach."
    )

    package let feedRetention = Setting.duration(
        "feed-retention",
        .seconds(30 * 86_400),
        in: .seconds(3600)...(.seconds(3650 * 86_400)),
        "How long change tokens are valid, and how long the change feed keeps deletions."
    ).ofApplications

    package let changeSource = Setting.choice(
        "change-source",
        LiveConfiguration.Source.auto,
        of: "source",
        mustBe: "auto, logical, polling or off",
        """
        The source of changes for live queries: the WAL of PostgreSQL if it can be decoded, otherwise polling (`auto`), only one \
        of both (`logical`, `polling`), or none (`off`).
        """
    ).ofApplications

    package let liveScanLimit = Setting.integer(
        "live-scan-limit",
        1_000,
        in: 0...100_000,
        unit: "count",
        "The maximum number of live queries of a type that every change is compared with; queries for specific values do not "
            + "count."
    ).ofApplications

    package let liveMembers = Setting.integer(
        "live-members",
        10_000,
        in: 1...1_000_000,
        unit: "count",
        "The maximum number of records of a live query whose changes come without the previous record, as with polling."
    ).ofApplications

    package let liveQueryMemory = Setting.integer(
        "live-query-memory",
        256 << 20,
        in: 1 << 20...1 << 40,
        unit: "bytes",
        """
        The maximum memory of live queries, in bytes: conditions and their values, matching records if these are kept, and \
        events that wait for the first result; the same again for queries that are evaluated again. One client has \
        `client-share` of it.
        """
    ).ofApplications

    package let liveTransactionLimit = Setting.integer(
        "live-transaction-limit",
        10_000,
        in: 1...1_000_000,
        unit: "count",
        "The maximum number of changed rows of a transaction that are sent one by one; after more, live queries start again."
    ).ofApplications

    package let livePollInterval = Setting.duration(
        "live-poll-interval",
        .milliseconds(20),
        in: .milliseconds(1)...(.seconds(60)),
        "The pause between two polls for changes, if live queries poll."
    ).ofApplications
}

import SkyrowModel
import SkyrowProtocol
import SkyrowQuery
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What live queries of one client take of places and memory, as values: without a service.
@Suite struct LiveSharesTests {
    private static let first = ClientKey(high: 0, low: 1)
    private static let second = ClientKey(high: 0, low: 2)

    // MARK: Shares

    @Test func aClientHasItsShareAndTheOperatorTheRest() {
        var shares = ClientShares(limit: 100, ClientShare(percent: 25))
        for client in (1...5).map({ ClientKey(high: 0, low: $0) }) {
            var count = 0
            while shares.refusal(of: 1, to: client) == nil {
                shares.take(1, for: client)
                count += 1
            }
            // Three clients have their share, one what is left of all but the tenth, and one none.
            #expect(count == (client.low <= 3 ? 25 : client.low == 4 ? 15 : 0))
        }
        #expect(shares.refusal(of: 1, to: Self.first) == .client(limit: 25))
        #expect(shares.refusal(of: 1, to: ClientKey(high: 0, low: 9)) == .all)
        for _ in 0..<10 {
            #expect(shares.refusal(of: 1, to: nil) == nil)
            shares.take(1, for: nil)
        }
        #expect(shares.refusal(of: 1, to: nil) == .all)
        shares.take(-25, for: Self.first)
        #expect(shares.held(by: Self.first) == 0 && shares.used == 75)
    }

    /// One customer may have 256 networks of IPv6.
    @Test func aSiteHasTwiceTheShare() {
        var shares = ClientShares(limit: 100, ClientShare(percent: 10))
        var count = 0
        for number in 0..<5 {
            let client = ClientKey(high: 0x2001_0db8_0001_0000 | UInt64(number << 8), low: 0)
            while shares.refusal(of: 1, to: client) == nil {
                shares.take(1, for: client)
                count += 1
            }
        }
        #expect(count == 20)
    }

    // MARK: Bytes

    @Test func aListOfValuesCountsByWhatIsHeldOfIt() {
        let values = (0..<10_000).map { RecordValue.integer(Int64($0)) }
        let path = Operand.keyPath(FieldPath(unchecked: "n"))
        let list = RecordPredicate.comparison(.nin, path, .list(values)).heldBytes
        #expect((400_000...2_000_000).contains(list))
        let text = RecordPredicate.comparison(.eq, path, .value(.string(String(repeating: "x", count: 100_000))))
        #expect((200_000...300_000).contains(text.heldBytes))
        let both = RecordPredicate.and([.comparison(.nin, path, .list(values)), text])
        #expect(both.heldBytes > list + text.heldBytes)
        #expect(RecordPredicate.comparison(.eq, path, .value(.integer(1))).heldBytes < 2_000)
    }

    /// A scene in which a client has a megabyte.
    private static func scene(scans: Int = 8) -> LiveScene {
        var scene = LiveScene()
        for connection in 1...4 { scene.connect(connection, MemoryOutlet()) }
        var limits = SubscriptionLimits()
        limits.memory = 4 << 20
        limits.scans = scans
        limits.total = 40
        scene.state.registry = LiveRegistry(limits: limits)
        return scene
    }

    @Test func whatSubscriptionsHoldIsBoundedByClient() throws {
        var scene = Self.scene()
        var refusal: SkyrowError?
        var taken: [LiveRegistry.Subscriber] = []
        for number in 0..<30 {
            do {
                let subscriber = try scene.subscribe(
                    "s\(number)",
                    on: 1,
                    group: Int64(number),
                    length: 100_000,
                    by: Self.first
                )
                taken.append(subscriber)
            } catch let error as SkyrowError {
                refusal = error
                break
            }
        }
        #expect((3...8).contains(taken.count))
        #expect(refusal?.code == .overloaded && refusal?.message.contains("1048576 bytes") == true)
        // Another client has its own share, and what ends gives its part back.
        let other = try scene.subscribe("s", on: 2, group: 1, length: 100_000, by: Self.second)
        for subscriber in taken + [other] { scene.state.registry.remove(subscriber) }
        #expect(scene.state.registry.clientShares.memory.isUnused)
        #expect(scene.state.registry.clientShares.places.isUnused)
        _ = try scene.subscribe("s", on: 1, group: 1, length: 100_000, by: Self.first)
    }

    @Test func placesOfQueriesWithoutATermAreShared() throws {
        // Five for a client, 18 for all clients together, and the last two for the operator.
        var scene = Self.scene(scans: 20)
        for client in 1...4 {
            let key = ClientKey(high: 0, low: UInt64(client))
            for number in 0..<6 {
                let text = "\(client) \(number)"
                let subscriber = try? scene.subscribe(text, on: client, title: text, by: key)
                #expect((subscriber != nil) == (number < (client == 4 ? 3 : 5)), "\(text)")
            }
        }
        // The same query takes no further place.
        _ = try scene.subscribe("again", on: 4, title: "1 0", by: ClientKey(high: 0, low: 4))
        for number in 0..<2 { _ = try scene.subscribe("o\(number)", on: 4, title: "o\(number)", by: .none) }
        #expect(throws: SkyrowError.self) { _ = try scene.subscribe("one more", on: 4, title: "p", by: .none) }
    }

    /// The client that came first leaves: its place is then that of a client that stays.
    @Test func whoStaysTakesThePlace() throws {
        var scene = Self.scene()
        let mine = try scene.subscribe("a", on: 1, title: "x", by: Self.first)
        _ = try scene.subscribe("b", on: 2, title: "x", by: Self.second)
        let group = try #require(scene.state.registry.subscribers[mine]?.group)
        #expect(scene.state.registry.groups[group]?.payer == Self.first)
        scene.state.registry.remove(mine)
        #expect(scene.state.registry.groups[group]?.payer == Self.second)
        // It has one of its two places, and the first client has none of them.
        _ = try scene.subscribe("c", on: 2, title: "y", by: Self.second)
        #expect(throws: SkyrowError.self) { _ = try scene.subscribe("d", on: 2, title: "z", by: Self.second) }
        _ = try scene.subscribe("e", on: 1, title: "v", by: Self.first)
        _ = try scene.subscribe("f", on: 1, title: "w", by: Self.first)
    }

    @Test func membersAndEventsThatWaitCountToo() throws {
        var scene = Self.scene()
        scene.state.mode = .polling
        let subscriber = try scene.subscribe("s", on: 1, group: 1, by: Self.first)
        let group = try #require(scene.state.registry.subscribers[subscriber]?.group)
        let begun = scene.state.registry.beginMembers(of: group)
        let reading = try #require(begun)
        #expect(!scene.state.registry.hasRoom(forMembers: 10_000, of: group))
        #expect(scene.state.registry.hasRoom(forMembers: 500, of: group))
        let before = scene.state.registry.clientShares.memory.used
        let start = LiveStart(moment: LiveScene.moment(103, at: 1))
        let records = (0..<500).map { StoredRecord.note("\($0)", 1, 100) }
        _ = scene.state.registry.setMembers(of: group, reading, records, readAt: start)
        #expect(scene.state.registry.clientShares.memory.used - before >= 500 * 256)
        scene.state.registry.forgetMembers(of: group)
        #expect(scene.state.registry.clientShares.memory.used == before)
        // Events wait for the beginning; where there is no room for them, it is read again.
        let mark = CommittedMark(id: .revision(105), end: nil)
        scene.state.registry.keep([Array(repeating: 1, count: 500_000)], of: mark, for: subscriber)
        #expect(scene.state.registry.clientShares.memory.used == before + 500_000)
        scene.state.registry.keep([Array(repeating: 1, count: 600_000)], of: mark, for: subscriber)
        #expect(scene.state.registry.clientShares.memory.used == before)
        #expect(scene.state.registry.finishLoading(subscriber, from: start) == nil)
        scene.state.registry.remove(subscriber)
        #expect(scene.state.registry.clientShares.memory.isUnused)
    }

    // MARK: Texts of events

    @Test func whatOneTransactionHasWrittenIsBoundedByClient() throws {
        var scene = Self.scene()
        var limits = SubscriptionLimits()
        limits.writtenBytes = 100
        scene.state.registry = LiveRegistry(limits: limits)
        let forms: [Set<FieldName>?] = [nil, [field("title")], [field("grp")], [], [field("title"), field("grp")]]
        var subscribers: [String: LiveRegistry.Subscriber] = [:]
        for (connection, client) in [(1, Self.first), (2, Self.second), (3, .none)] {
            for (number, asked) in forms.enumerated() {
                let name = "\(connection).\(number)"
                let subscriber = try scene.subscribe(name, on: connection, asking: asked, by: client)
                scene.finish(subscriber, at: LiveScene.moment(103, at: 1))
                subscribers[name] = subscriber
            }
        }
        let change = RecordChange(note: "1", .missing, to: 1, revision: 150)
        let dispatch = scene.state.registry.dispatch(
            CommittedTransaction(id: .truncated(150), end: 15_000, changes: [change])
        )
        // Each form is written once, for the client that is first to ask for it.
        let ended = Set(dispatch.resets.map(\.subscriber))
        #expect(dispatch.resets.allSatisfy { $0.reason == .bulk })
        #expect(dispatch.events == [.created: 15 - ended.count])
        for connection in [1, 2] {
            let count = forms.indices.count { number in
                subscribers["\(connection).\(number)"].map { ended.contains($0) } ?? false
            }
            #expect(connection == 2 || (1...4).contains(count), "client \(connection): \(count)")
        }
        #expect(forms.indices.allSatisfy { number in subscribers["3.\(number)"].map { !ended.contains($0) } ?? false })
        let bytes = dispatch.messages.reduce(0) { $0 + $1.message.byteCount }
        #expect(bytes > 0)
    }

    @Test func theBudgetOfATransactionIsSharedByClient() {
        var budget = WritingBudget(limit: 1_000)
        func isCounted(_ client: ClientKey?) -> Bool { budget.countEvent(for: client) }
        let clients = (1...9).map { ClientKey(high: 0, low: $0) }
        for client in clients.dropLast() {
            // Sixteen bytes for an event, and those of texts that are new.
            #expect(isCounted(client))
            budget.countText(900, for: client)
            #expect(isCounted(client))
            budget.countText(100, for: client)
            #expect(!isCounted(client))
        }
        // Nothing is left for any client.
        #expect(!isCounted(clients[8]) && !isCounted(nil))

        budget = WritingBudget(limit: 100)
        for _ in 0..<6 {
            #expect(isCounted(clients[0]))
            #expect(isCounted(clients[1]))
        }
        #expect(isCounted(clients[0]) && !isCounted(clients[0]))
        #expect(isCounted(nil))
        budget.countText(500, for: nil)
        #expect(isCounted(clients[1]) && isCounted(clients[2]))
    }

    // MARK: Queries that are asked again

    private static func watch(_ name: String, _ number: Int, by client: ClientKey, isOperator: Bool = false)
        -> WatchRegistry.Request
    {
        let caller = isOperator ? Caller(kind: .master(actingAs: nil)) : .anonymous
        let access = RecordAccess(in: .everyone, for: .reading, by: caller)
        var query = RecordQuery(type: LiveScene.table.name)
        query.limit = number
        return WatchRegistry.Request(
            name: name,
            connection: Int(client.low) * 1_000 + number,
            holder: LiveHolder(
                caller: isOperator ? caller : Caller(kind: .user(UserID("\(name) \(number)")), isRegistered: true),
                credentials: Credentials(key: "a key that is longer than fifteen bytes"),
                client: client
            ),
            key: WatchRegistry.Key(
                database: .everyone,
                subject: .records(query),
                visibility: ResolvedVisibility(access, of: LiveScene.table.name, rules: [:]),
                fields: access.fields
            ),
            databaseName: .everyone,
            tables: [LiveScene.table.name: LiveScene.table],
            databases: [.everyone],
            asksRelations: false
        )
    }

    /// Accounts are made in no time, so an address has a share for all of its users.
    @Test func accountsOfOneAddressDoNotTakeAllPlaces() throws {
        var limits = SubscriptionLimits()
        limits.watches = 100
        var registry = WatchRegistry(limits: limits)
        var taken: [WatchRegistry.Watcher] = []
        for number in 1...30 {
            if let watcher = try? registry.add(Self.watch("a", number, by: Self.first)) { taken.append(watcher) }
        }
        #expect(taken.count == 25)
        // Another client's query is taken, and one that is there already.
        _ = try registry.add(Self.watch("b", 31, by: Self.second))
        let joined = try registry.add(Self.watch("c", 1, by: Self.second))
        _ = try registry.add(Self.watch("d", 1_000, by: Self.first, isOperator: true))
        // The first client leaves its query to the second one, and has a place again.
        registry.remove(taken[0])
        _ = try registry.add(Self.watch("a", 40, by: Self.first))
        #expect(throws: SkyrowError.self) { _ = try registry.add(Self.watch("a", 41, by: Self.first)) }
        registry.remove(joined)
        for watcher in taken.dropFirst() { registry.remove(watcher) }
        for number in 50..<74 { _ = try registry.add(Self.watch("a", number, by: Self.first)) }
    }
}

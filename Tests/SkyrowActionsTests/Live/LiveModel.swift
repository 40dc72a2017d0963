import SkyrowModel
import SkyrowProtocol
import SkyrowQuery
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// A database, a source of changes, the state of live queries, and clients whose connections drop what they cannot take.
///
/// All that waits elsewhere is a step here, and steps come in a generated order.
struct LiveModel {
    enum Source: CaseIterable, Sendable {
        /// Questions about what has become visible.
        case polling
        /// A stream with the records before.
        case wholeRecords
        /// A stream with the ids before.
        case keysAlone
    }

    private let source: Source
    private var random: SeededGenerator
    private var scene: LiveScene
    private var database = ModelDatabase()
    private var clients: [ModelClient] = []
    private var loads: [ModelLoad] = []

    /// The moment of the last answer.
    private var seen: ChangeMoment?
    private var asked: (question: ChangeMoment, answer: ModelSnapshot)?
    private var clock = ContinuousClock.now
    private var lastConnection = 0
    private var steps: [Step] = []

    init(_ source: Source, seed: UInt64) throws {
        self.source = source
        random = SeededGenerator(seed: seed)
        let capacity = [1_000, 3_000, 100_000].randomElement(using: &random) ?? 0
        let buffer = [400, 100_000].randomElement(using: &random) ?? 0
        scene = LiveScene(outletBuffer: capacity, bufferBytes: buffer)
        scene.state.mode = .none
        database.logsBefore = source == .wholeRecords
        database.ids = Array(database.ids.prefix(Int.random(in: 1...4, using: &random)))
        for _ in 0..<2 { clients.append(try connect(ModelClient(capacity: capacity))) }
    }

    // MARK: Steps

    /// What happens in a step.
    private enum Step: CaseIterable {
        case begin, write, log, end, writeAlone, ask, takeAnswer, takeStreamed, advanceLoad, leave, recover, takeMoment,
            sendCheckpoints
        case lose, reconnect
    }

    /// Draws how often each step comes, so that some schedules have much of one and little of another.
    private mutating func drawSteps() {
        steps = Step.allCases.flatMap { step in
            let counts = step == .lose || step == .reconnect ? [0, 0, 1, 5] : [0, 1, 3, 10]
            return Array(repeating: step, count: counts.randomElement(using: &random) ?? 0)
        }
    }

    private mutating func step() throws {
        switch steps.randomElement(using: &random) {
        case .begin: database.begin()
        case .write: database.write(&random)
        case .log: database.log(&random)
        case .end: database.end(&random)
        case .writeAlone: database.writeAlone(&random)
        case .ask: ask()
        case .takeAnswer: takeAnswer()
        case .takeStreamed: takeStreamed()
        case .advanceLoad: try advanceLoad()
        case .leave: clients.randomElement(using: &random)?.outlet.leave()
        case .recover: recover(Int.random(in: clients.indices, using: &random))
        case .takeMoment: takeMoment()
        case .sendCheckpoints: sendCheckpoints()
        case .lose: lose()
        case .reconnect: try reconnect(Int.random(in: clients.indices, using: &random))
        case nil: break
        }
    }

    /// Some steps, after which all ends and all arrives.
    mutating func run() throws {
        drawSteps()
        for _ in 0..<Int.random(in: 1..<150, using: &random) { try step() }
        try finish()
    }

    /// Has all end and all arrive.
    private mutating func finish() throws {
        var rounds = 0
        repeat {
            rounds += 1
            guard rounds < 10_000 else {
                Issue.record("it comes to no end")
                return
            }
            while !database.isIdle {
                database.log(&random)
                database.end(&random)
            }
            if scene.state.mode == .none || source == .polling {
                ask()
                takeAnswer()
            }
            while takeStreamed() {}
            takeMoment()
            for _ in 0...loads.count { try advanceLoad() }
            for place in clients.indices {
                recover(place)
                while clients[place].outlet.leave() {}
                if clients[place].hasReset { try reconnect(place) }
            }
        } while !isQuiet
    }

    private var isQuiet: Bool {
        scene.state.mode != .none && loads.isEmpty
            && clients.allSatisfy { $0.outlet.isEmpty && $0.outlet.generation.isMultiple(of: 2) && !$0.hasReset }
            && (source != .polling || seen?.transactions == database.moment.transactions)
    }

    /// What clients hold that is not so, and what they lack.
    var differences: [String] {
        clients.indices.flatMap { place in
            ModelClient.subscriptions.flatMap { name, group in
                let client = clients[place]
                let held = client.sink.held(name).compactMapValues { $0["grp"] }
                var expected: [String: String] = [:]
                for (id, row) in database.rows where group == nil || row.group == group {
                    expected["note/\(id)"] = "\(row.group)"
                }
                let faults = client.sink.faults.filter { $0.hasPrefix("no JSON") || $0.hasPrefix("another length") }
                return faults + (held == expected ? [] : ["\(place) \(name): holds \(held), there is \(expected)"])
            }
        }
    }

    // MARK: Sources

    private mutating func ask() {
        guard source == .polling, asked == nil else { return }
        let snapshot = database.snapshot
        asked = (seen ?? snapshot.moment, snapshot)
    }

    private mutating func takeAnswer() {
        guard let (question, answer) = asked else { return startStream() }
        asked = nil
        for transaction in answer.changes(since: question, &random) {
            scene.state.perform(scene.state.registry.dispatch(transaction))
        }
        seen = answer.moment
        if scene.state.mode == .none { scene.state.mode = .polling }
        scene.state.registry.passed(answer.moment.walPosition)
        scene.state.completed(answer.moment)
    }

    /// A slot is made when all transactions have ended that write.
    private mutating func startStream() {
        guard source != .polling, scene.state.mode == .none, database.isIdle else { return }
        database.streamed = []
        scene.state.registry.forgetAllMembers()
        scene.state.mode = .logical
    }

    /// Takes the next transaction of the stream; false where there is none.
    @discardableResult
    private mutating func takeStreamed() -> Bool {
        guard source != .polling, scene.state.mode == .logical, let transaction = database.nextStreamed() else {
            return false
        }
        scene.state.perform(scene.state.registry.dispatch(transaction))
        scene.state.passed(transaction.end ?? 0)
        return true
    }

    private mutating func takeMoment() {
        guard source != .polling, scene.state.mode == .logical else { return }
        scene.state.pending.append(database.moment)
        if database.streamed.isEmpty { scene.state.passed(database.position) }
    }

    private mutating func sendCheckpoints() {
        clock = clock.advanced(by: .seconds(30))
        scene.state.sendCheckpoints(at: clock)
    }

    private mutating func lose() {
        guard scene.state.mode != .none else { return }
        asked = nil
        seen = nil
        database.streamed = []
        add(scene.state.lose(resuming: [0, 1, 1_000].randomElement(using: &random) ?? 0))
    }

    // MARK: Clients

    private mutating func connect(_ client: ModelClient) throws -> ModelClient {
        lastConnection += 1
        scene.connect(lastConnection, client.outlet)
        var client = client
        client.connection = lastConnection
        for (name, group) in ModelClient.subscriptions {
            let subscriber = try scene.subscribe(
                name,
                on: lastConnection,
                group: group,
                from: client.sink.token(name).map { .since($0) } ?? .initial,
                hasKeysAlone: source == .keysAlone
            )
            loads.append(ModelLoad(subscriber: subscriber, attempt: 0))
        }
        return client
    }

    /// The connection of a client breaks, and it goes on with another.
    private mutating func reconnect(_ place: Int) throws {
        let number = clients[place].connection
        for subscriber in scene.state.registry.subscribers(of: number) { scene.state.registry.remove(subscriber) }
        scene.state.connections[number] = nil
        clients[place] = try connect(clients[place].next())
    }

    private mutating func recover(_ place: Int) {
        guard clients[place].outlet.recover() else { return }
        add(scene.state.caughtUp(clients[place].connection))
    }

    private mutating func add(_ new: [LiveDispatcher.Load]) {
        loads += new.map { ModelLoad(subscriber: $0.subscriber, attempt: $0.attempt) }
    }

    // MARK: Beginnings

    private mutating func advanceLoad() throws {
        guard scene.state.mode != .none, let place = loads.indices.randomElement(using: &random) else { return }
        var load = loads.remove(at: place)
        if try advance(&load) { loads.append(load) }
    }

    /// Goes one step on; false where it has ended.
    private mutating func advance(_ load: inout ModelLoad) throws -> Bool {
        switch load.step {
        case .members:
            guard scene.state.registry.subscribers[load.subscriber] != nil else { return false }
            beginMembers(&load)
        case .membersRead(let number, let reading, let snapshot):
            let group = scene.state.registry.groups[number]?.value
            let records = snapshot.records.filter { group?.matches($0) ?? false }
            let start = LiveStart(moment: snapshot.moment)
            if let dispatch = scene.state.registry.setMembers(of: number, reading, records, readAt: start) {
                scene.state.perform(dispatch)
            }
            // Where they have changed meanwhile, it tries again.
            load.step = .members
        case .page:
            guard scene.state.isCurrent(load.attempt, of: load.subscriber) else { return false }
            try readPage(&load)
        case .pageRead(let page, let isLast):
            guard scene.state.isCurrent(load.attempt, of: load.subscriber),
                let name = scene.state.registry.subscribers[load.subscriber]?.name
            else { return false }
            if !page.removed.isEmpty || !page.changed.isEmpty {
                scene.state.send(BeginningPage(page, load.phase, of: name), to: load.subscriber)
            }
            load.step = .page
            guard isLast else { return true }
            if let earlier = load.earlier {
                load.earlier = nil
                load.phase = .resume
                load.since = earlier
                load.last = ""
                return true
            }
            guard scene.state.isCurrent(load.attempt, of: load.subscriber), let begun = load.begun else { return false }
            let token = LiveScene.token(at: begun)
            guard let attempt = scene.state.finishBeginning(of: load.subscriber, at: begun, token) else { return false }
            load = ModelLoad(subscriber: load.subscriber, attempt: attempt)
        }
        return true
    }

    private mutating func beginMembers(_ load: inout ModelLoad) {
        guard let (number, group) = scene.state.registry.group(of: load.subscriber) else { return }
        guard scene.state.needsMembers(group), !scene.state.registry.hasMembers(number) else {
            load.step = .page
            return
        }
        guard let reading = scene.state.registry.beginMembers(of: number) else { return }
        load.step = .membersRead(number, reading, database.snapshot)
    }

    private mutating func readPage(_ load: inout ModelLoad) throws {
        let snapshot = database.snapshot
        guard let known = scene.state.registry.subscribers[load.subscriber]?.value,
            let group = scene.state.registry.group(of: load.subscriber)?.group
        else { return }
        if load.begun == nil {
            load.begun = snapshot.moment
            let position = try #require(scene.state.registry.start(of: load.subscriber))
            if case .initial = position {
                load.phase = .initial
                load.earlier = known.began?.transactions
                scene.state.registry.take(LiveScene.token(at: snapshot.moment), of: load.subscriber)
            } else {
                let token = try #require(known.token(of: position).flatMap { ChangeToken(text: $0) })
                load.since = token.transactions
            }
        }
        let count = Int.random(in: 1...4, using: &random)
        let (page, last) = try snapshot.page(of: group, since: load.since, after: load.last, count: count)
        load.last = last ?? ""
        load.step = .pageRead(page, isLast: last == nil)
    }
}

/// The beginning of a subscription on its way.
struct ModelLoad {
    enum Step {
        case members
        case membersRead(SubscriptionIndex.Group, MembersLoading.Reading, ModelSnapshot)
        case page
        case pageRead(ChangesResult, isLast: Bool)
    }

    let subscriber: LiveRegistry.Subscriber
    let attempt: UInt32
    var step = Step.members
    var phase = LiveText.Phase.resume
    var begun: ChangeMoment?
    var since: TransactionSet?
    var earlier: TransactionSet?
    /// The id of the last record of the page before.
    var last = ""
}

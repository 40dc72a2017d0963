import Foundation
import SkyrowClient

/// A shopping list that several terminals share: each line that is typed changes it, and all of them show it.
@main
struct SharedList {
    let client: SkyrowClient
    let name: String

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 3, let endpoint = URL(string: arguments[1]) else {
            print("usage: SharedList http://127.0.0.1:3000 API-KEY NAME")
            exit(64)
        }
        let list = SharedList(client: SkyrowClient(endpoint: endpoint, apiKey: arguments[2]), name: arguments[3])
        do {
            try await list.run()
        } catch let error as ClientError {
            print(error)
            exit(1)
        }
    }

    func run() async throws {
        try await client.signUp(["username": "\(name)-\(UUID().uuidString)"], password: "correct horse")
        print(
            "Type what to buy, \"done 1\" for what is in the basket, \"drop 1\" for what is not needed; end with Ctrl-D."
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await watch() }
            group.addTask { try await type() }
            // The end of the input ends the program, and with it the query.
            try await group.next()
            group.cancelAll()
        }
    }

    /// Prints the list, again whenever someone changes it.
    func watch() async throws {
        for try await items in client.publicDatabase.live(try RecordQuery("shopping")).records {
            print("--- \(items.count) on the list")
            for (place, item) in inOrder(items).enumerated() {
                let isDone = item["done"]?.booleanValue ?? false
                print(
                    "\(place + 1). [\(isDone ? "x" : " ")] \(item["title"]?.stringValue ?? "") (\(item["by"]?.stringValue ?? ""))"
                )
            }
        }
    }

    /// Changes the list by each line that is typed.
    func type() async throws {
        for await line in SharedList.input() {
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            do {
                if words.count == 2, ["done", "drop"].contains(words[0]), let place = Int(words[1]) {
                    try await change(place, isDone: words[0] == "done")
                } else if !words.isEmpty {
                    try await add(line)
                }
            } catch let error as ClientError {
                print(error)
            }
        }
    }

    /// The lines of standard input, which a thread of their own waits for.
    private static func input() -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }

    /// Everyone who is logged in may change what is on the list.
    private func add(_ title: String) async throws {
        let everyone = AccessList([AccessEntry(.everyone, .write)])
        try await client.publicDatabase.save(
            RecordDraft.new(
                "shopping",
                ["title": .string(title), "by": .string(name), "done": false, "at": .datetime(Timestamp(Date()))],
                access: everyone
            )
        )
    }

    private func change(_ place: Int, isDone: Bool) async throws {
        let page = try await client.publicDatabase.query(RecordQuery("shopping").sorted(by: "at").limited(to: 1000))
        guard page.records.indices.contains(place - 1) else { return print("There is no \(place).") }
        let id = page.records[place - 1].id
        if isDone {
            try await client.publicDatabase.save(RecordDraft(id.description, ["done": true]))
        } else {
            try await client.publicDatabase.delete(id)
        }
    }

    private func inOrder(_ items: LiveRecords) -> [Record] {
        items.sorted { ($0["at"]?.dateValue ?? .distantPast) < ($1["at"]?.dateValue ?? .distantPast) }
    }
}

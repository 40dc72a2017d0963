package import SkyrowRemote
import Synchronization

/// A transport that keeps mails in memory.
package final class MemoryMailTransport: MailTransport, Changing {
    private struct State {
        var messages: [MailMessage] = []
        var failures: [MailFailure]
    }

    private let state: Mutex<State>
    package let changes = ChangeSignal()

    /// - Parameter failures: The failures of the first attempts.
    package init(failures: [MailFailure] = []) {
        state = Mutex(State(failures: failures))
    }

    package func send(_ message: MailMessage) async throws(MailFailure) {
        let failure = state.withLock { state -> MailFailure? in
            guard state.failures.isEmpty else { return state.failures.removeFirst() }
            state.messages.append(message)
            return nil
        }
        if let failure { throw failure }
        changes.notify()
    }

    package var messages: [MailMessage] { state.withLock { $0.messages } }

    /// Returns the mail with this index, and waits for it if necessary.
    package func message(_ number: Int) async throws -> MailMessage {
        try await waiting(until: "mail \(number) is sent", hearing: [self]) { messages.count > number }
        return messages[number]
    }
}

extension MailMessage {
    /// The code of the link in the text; empty without a link.
    package var linkCode: String {
        text.firstMatch(of: /[?]code=([A-Za-z0-9_-]+)/).map { String($0.1) } ?? ""
    }

    /// The six digits in the text; empty without digits.
    package var digits: String {
        text.firstMatch(of: /(?m)^([0-9]{6})$/).map { String($0.1) } ?? ""
    }
}

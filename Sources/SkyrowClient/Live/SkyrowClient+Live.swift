public import SkyrowModel
import SkyrowProtocol

extension SkyrowClient {
    /// Returns a token that opens one event stream at `GET /live`, for a web view or browser, whose `EventSource` sends no
    /// headers.
    ///
    /// ```swift
    /// let ticket = try await client.liveTicket()
    /// let address = "https://api.example.org/live?record_type=note&live-query-token=\(ticket.token)"
    /// ```
    ///
    /// The token opens a stream once, within a minute, and an `EventSource` resumes that stream with it for as long as the
    /// session is valid. Without a login it stands for the API key. This client's own live queries do not need a token.
    public func liveTicket() async throws(ClientError) -> LiveTicket {
        try await call(Actions.liveTicket, ())
    }
}

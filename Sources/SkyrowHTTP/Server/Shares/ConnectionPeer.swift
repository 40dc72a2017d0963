/// The other end of a connection, and the client to whom its bodies are charged.
struct ConnectionPeer {
    let client: Client
    /// The client's usage; nil for a client without an address, and for a proxy.
    let usage: ClientUsage?
    let isProxy: Bool
}

/// The other end of a connection, and whose share its bodies are taken from.
struct ConnectionPeer {
    let client: Client
    /// What the client holds; nil for a client without an address, and for a proxy.
    let usage: ClientUsage?
    let isProxy: Bool
}

import SkyrowSystem

extension Settings {
    /// Throws ``ToolError`` if development mode would be open to other machines without explicit permission.
    func refusePublicDevelopment() throws(ToolError) {
        let host = self.listening.host
        let mode = self.records
        guard mode.isDevelopment, !mode.isPublicDevelopment, !MetricsAccess.isLoopback(host) else { return }
        throw .configuration(
            """
            In development mode any client with the API key can create types and fields, and \(host) is reachable from \
            other machines: add --no-development, --host 127.0.0.1 or --public-development.
            """
        )
    }
}

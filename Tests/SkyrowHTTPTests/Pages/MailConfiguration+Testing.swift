import SkyrowActions
import SkyrowRemote
import SkyrowTestSupport

extension MailConfiguration {
    /// Mail that a test reads.
    static func toMemory(_ transport: MemoryMailTransport, looks: PageLooks = PageLooks()) throws -> MailConfiguration {
        guard let from = Mailbox("Tom & Jerry's <no-reply@example.org>") else {
            throw UnexpectedResponse(response: "no sender")
        }
        return MailConfiguration(
            transport: transport,
            from: from,
            publicURL: "https://api.example.org",
            templates: try MailTemplates(),
            title: "Tom & Jerry's",
            looks: looks
        )
    }
}

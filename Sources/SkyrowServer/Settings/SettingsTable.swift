/// The table of all settings, in groups.
///
/// A new setting is a property of a group, and a new group is a property here. They are classes, since copying this
/// many properties takes much code.
package final class SettingsTable: Sendable {
    package let general = GeneralSettings()
    package let database = DatabaseSettings()
    package let application = ApplicationSettings()
    package let listening = ListeningSettings()
    package let liveConnections = LiveConnectionSettings()
    package let tls = TLSSettings()
    package let proxies = ProxySettings()
    package let keys = KeySettings()
    package let records = RecordSettings()
    package let files = FileSettings()
    package let accounts = AccountSettings()
    package let mail = MailSettings()
    package let providers = ProviderSettings()
    package let outgoing = OutgoingSettings()
    package let functions = FunctionSettings()
    package let rateLimits = RateLimitSettings()
    package let pools = PoolSettings()
    package let times = TimeSettings()
    package let logging = LoggingSettings()
    package let observability = ObservabilitySettings()
}

/// Every setting there is, group by group.
///
/// A new setting is a property of one of the groups; a new group is a property here.
struct SettingsTable: Sendable {
    let general = GeneralSettings()
    let database = DatabaseSettings()
    let listening = ListeningSettings()
    let tls = TLSSettings()
    let proxies = ProxySettings()
    let keys = KeySettings()
    let records = RecordSettings()
    let accounts = AccountSettings()
    let rateLimits = RateLimitSettings()
    let pools = PoolSettings()
    let times = TimeSettings()
    let logging = LoggingSettings()
    let observability = ObservabilitySettings()
}

import Logging
import SkyrowHTTP
import SkyrowModel
import SkyrowStore

/// How a service is to run, decided once from flags and environment.
struct ServeSettings: Hashable, Sendable {
    var database: DatabaseSettings
    var host: String
    /// 0 takes any free port.
    var port: Int
    var isDevelopment: Bool
    /// nil takes the one kept in the data directory, making it at the first start.
    var apiKey: String?
    /// nil likewise.
    var masterKey: String?
    /// The fields of `user` that accounts log in with.
    var loginKeys: [FieldName]
    var logLevel: Logger.Level
    /// The longest request body, in bytes.
    var maximumBody: Int
    /// How many connections clients may have open at once.
    var maximumConnections: Int
    var cors: CORSPolicy
    /// Whose word about the clients behind them is taken.
    var proxies: TrustedProxies

    static let hostName = SettingValues.Name(flag: "host", environment: "SKYROW_HOST")
    static let portName = SettingValues.Name(flag: "port", environment: "SKYROW_PORT")
    static let developmentName = SettingValues.Name(flag: "development", environment: "SKYROW_DEVELOPMENT")
    static let apiKeyName = SettingValues.Name(flag: nil, environment: "SKYROW_API_KEY")
    static let masterKeyName = SettingValues.Name(flag: nil, environment: "SKYROW_MASTER_KEY")
    static let loginKeysName = SettingValues.Name(flag: "login-keys", environment: "SKYROW_LOGIN_KEYS")
    static let logLevelName = SettingValues.Name(flag: "log-level", environment: "SKYROW_LOG_LEVEL")
    static let maximumBodyName = SettingValues.Name(flag: "maximum-body", environment: "SKYROW_MAXIMUM_BODY")
    static let maximumConnectionsName = SettingValues.Name(
        flag: "maximum-connections",
        environment: "SKYROW_MAXIMUM_CONNECTIONS"
    )
    static let corsName = SettingValues.Name(flag: "cors-origins", environment: "SKYROW_CORS_ORIGINS")
    static let proxiesName = SettingValues.Name(flag: "trusted-proxies", environment: "SKYROW_TRUSTED_PROXIES")
    static let forwardedName = SettingValues.Name(flag: "forwarded-header", environment: "SKYROW_FORWARDED_HEADER")

    /// Throws ``ToolError`` about the first setting that is wrong.
    init(_ values: SettingValues) throws(ToolError) {
        database = try DatabaseSettings(values)
        host = try values.value(Self.hostName, default: "127.0.0.1", mustBe: "a host name or an address") { text in
            text.isEmpty || text.contains(where: { $0.isWhitespace || $0 == "/" }) ? nil : text
        }
        port = try values.integer(Self.portName, default: 3000, in: 0...65535)
        isDevelopment = try values.boolean(Self.developmentName, default: false)
        apiKey = try values.secret(Self.apiKeyName, minimumLength: 8)
        masterKey = try values.secret(Self.masterKeyName, minimumLength: 16)
        guard apiKey == nil || apiKey != masterKey else {
            throw .usage("SKYROW_API_KEY and SKYROW_MASTER_KEY must differ.")
        }
        loginKeys = try values.value(
            Self.loginKeysName,
            default: LoginKeys.standard,
            mustBe: "names of fields with commas between them, such as username,email",
            ServeSettings.loginKeys
        )
        let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        logLevel = try values.value(Self.logLevelName, default: .info, mustBe: "one of \(levels)") { text in
            Logger.Level(rawValue: text.lowercased())
        }
        maximumBody = try values.integer(Self.maximumBodyName, default: 8 << 20, in: 1024...1 << 30)
        maximumConnections = try values.integer(Self.maximumConnectionsName, default: 10_000, in: 1...1_000_000)
        cors = try values.value(
            Self.corsName,
            default: .anyOrigin,
            mustBe: "'*', 'none', or origins such as https://app.example with commas between them",
            ServeSettings.corsPolicy
        )
        let forwardedHeaders = TrustedProxies.Header.allCases.map(\.rawValue).joined(separator: " or ")
        let ranges = try values.value(
            Self.proxiesName,
            default: [],
            mustBe:
                "addresses and ranges such as 10.0.0.0/8,::1 with commas between them, with no bits beyond a length",
            ServeSettings.addressRanges
        )
        let header = try values.value(Self.forwardedName, default: .forwardedFor, mustBe: forwardedHeaders) { text in
            TrustedProxies.Header(rawValue: text.lowercased())
        }
        proxies = TrustedProxies(ranges, header: header)
    }

    private static func loginKeys(_ text: String) -> [FieldName]? {
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map { try? FieldName(String($0)) }
        let keys = names.compactMap { $0 }
        return keys.count == names.count && Set(keys).count == keys.count ? keys : nil
    }

    private static func addressRanges(_ text: String) -> [AddressRange]? {
        let ranges = text.split(separator: ",", omittingEmptySubsequences: false).map { AddressRange($0) }
        let known = ranges.compactMap { $0 }
        return known.count == ranges.count ? known : nil
    }

    /// `*`, `none`, or the origins of web pages with commas between them.
    private static func corsPolicy(_ text: String) -> CORSPolicy? {
        switch text {
        case "*": return .anyOrigin
        case "none": return .off
        default:
            let origins = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            let areOrigins = origins.allSatisfy { origin in
                guard let scheme = ["https://", "http://"].first(where: origin.hasPrefix) else { return false }
                let host = origin.dropFirst(scheme.count)
                return !host.isEmpty && !host.contains { $0 == "/" || $0.isWhitespace }
            }
            return areOrigins ? .origins(Set(origins)) : nil
        }
    }
}

// swift-tools-version: 6.2
import PackageDescription

/// Everything a server needs and an application does not. A package that depends on Skyrow with `traits: []` gets
/// `SkyrowClient` alone and resolves no other package (Tests/Fixtures/ClientOnly proves it).
let server: TargetDependencyCondition? = .when(traits: ["Server"])

let package = Package(
    name: "skyrow",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "SkyrowClient", targets: ["SkyrowClient"]),
        .executable(name: "skyrow", targets: ["skyrow"]),
    ],
    traits: [
        .trait(name: "Server", description: "The service and its tool; leave it out to use SkyrowClient alone."),
        .default(enabledTraits: ["Server"]),
    ],
    // Exact, since an image and a package are made without Package.resolved, whose commits depend on where packages come from.
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", exact: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [
        // Layer 0
        .systemLibrary(
            name: "CLibpq",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]
        ),
        // libpq depends on it already.
        .systemLibrary(
            name: "CLibcrypto",
            pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]
        ),
        .systemLibrary(
            name: "CLibsodium",
            pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]
        ),
        // It speaks SMTP, and is loaded when mail is to be sent: nothing is linked with it. Its headers are those of Debian's
        // libcurl4-openssl-dev, or of Apple's SDKs.
        .target(name: "CLibcurl"),
        // The files of sql/ and the function server for Node, which become part of the executable.
        .target(name: "CSQLFiles"),
        // What Swift's module Glibc leaves out.
        .systemLibrary(name: "CGlibc"),
        .target(name: "SkyrowConcurrency"),
        .target(name: "SkyrowModel"),
        // Two targets depend on another of their layer: what SkyrowJSON writes are the values of SkyrowModel, and
        // SkyrowSystem waits for programs.
        .target(name: "SkyrowJSON", dependencies: ["SkyrowModel"]),
        .target(name: "SkyrowSystem", dependencies: ["SkyrowConcurrency"]),

        // Layer 1
        .target(
            name: "SkyrowCrypto",
            dependencies: [
                .target(name: "CLibcrypto", condition: server),
                .target(name: "CLibsodium", condition: server), "SkyrowConcurrency",
            ]
        ),
        .target(
            name: "SkyrowPostgres",
            dependencies: [
                .target(name: "CLibpq", condition: server), "SkyrowConcurrency", "SkyrowSystem",
                .product(name: "Logging", package: "swift-log", condition: server),
            ]
        ),
        .target(
            name: "SkyrowRemote",
            dependencies: [
                .target(name: "CLibcurl", condition: server), "SkyrowConcurrency", "SkyrowCrypto", "SkyrowJSON",
                "SkyrowModel", "SkyrowSystem",
            ]
        ),
        .target(name: "SkyrowProtocol", dependencies: ["SkyrowJSON", "SkyrowModel"]),
        .target(name: "SkyrowQuery", dependencies: ["SkyrowJSON", "SkyrowModel"]),

        // Layer 2
        .target(
            name: "SkyrowStore",
            dependencies: [
                "CSQLFiles", "SkyrowConcurrency", "SkyrowCrypto", "SkyrowJSON", "SkyrowModel", "SkyrowPostgres",
                "SkyrowProtocol", "SkyrowQuery", "SkyrowSystem",
                .product(name: "Logging", package: "swift-log", condition: server),
            ]
        ),
        .target(
            name: "SkyrowClient",
            dependencies: ["SkyrowConcurrency", "SkyrowJSON", "SkyrowModel", "SkyrowProtocol"]
        ),

        // Layer 3
        .target(
            name: "SkyrowActions",
            dependencies: [
                "SkyrowConcurrency", "SkyrowCrypto", "SkyrowJSON", "SkyrowModel", "SkyrowQuery", "SkyrowRemote",
                "SkyrowStore", "SkyrowSystem", "SkyrowProtocol",
                .product(name: "Logging", package: "swift-log", condition: server),
                .product(name: "Metrics", package: "swift-metrics", condition: server),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server),
            ]
        ),

        // Layer 4
        .target(
            name: "SkyrowHTTP",
            dependencies: [
                "SkyrowActions", "SkyrowConcurrency", "SkyrowJSON", "SkyrowModel", "SkyrowSystem", "SkyrowProtocol",
                .product(name: "Logging", package: "swift-log", condition: server),
                .product(name: "Metrics", package: "swift-metrics", condition: server),
                .product(name: "NIOCore", package: "swift-nio", condition: server),
                .product(name: "NIOHPACK", package: "swift-nio-http2", condition: server),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: server),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: server),
                .product(name: "NIOPosix", package: "swift-nio", condition: server),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: server),
                .product(name: "NIOTLS", package: "swift-nio", condition: server),
                .product(name: "NIOWebSocket", package: "swift-nio", condition: server),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: server),
            ]
        ),

        // Layer 5
        .target(
            name: "SkyrowMaintenance",
            dependencies: [
                "SkyrowActions", "SkyrowCrypto", "SkyrowJSON", "SkyrowModel", "SkyrowPostgres", "SkyrowQuery",
                "SkyrowStore", "SkyrowSystem", "SkyrowProtocol",
                .product(name: "Logging", package: "swift-log", condition: server),
            ]
        ),
        .target(
            name: "SkyrowServer",
            dependencies: [
                .target(name: "CGlibc", condition: server),
                "CSQLFiles", "SkyrowActions", "SkyrowConcurrency", "SkyrowCrypto", "SkyrowHTTP", "SkyrowJSON",
                "SkyrowModel", "SkyrowPostgres", "SkyrowProtocol", "SkyrowRemote", "SkyrowStore", "SkyrowSystem",
                .product(name: "CoreMetrics", package: "swift-metrics", condition: server),
                .product(name: "Logging", package: "swift-log", condition: server),
                .product(name: "NIOCore", package: "swift-nio", condition: server),
                .product(name: "NIOPosix", package: "swift-nio", condition: server),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: server),
                .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: server),
            ]
        ),

        // Layer 6
        .executableTarget(
            name: "skyrow",
            dependencies: [
                "SkyrowActions", "SkyrowConcurrency", "SkyrowHTTP", "SkyrowJSON", "SkyrowMaintenance", "SkyrowModel",
                "SkyrowPostgres",
                "SkyrowRemote", "SkyrowServer", "SkyrowStore", "SkyrowSystem", "SkyrowProtocol",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
                .product(name: "Logging", package: "swift-log", condition: server),
                .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: server),
            ]
        ),

        // The test kit and the tests
        .target(
            name: "SkyrowTestSupport",
            dependencies: [
                .target(name: "CLibpq", condition: server),
                "SkyrowConcurrency", "SkyrowJSON", "SkyrowModel", "SkyrowPostgres", "SkyrowProtocol", "SkyrowRemote",
                "SkyrowStore", "SkyrowSystem",
                .product(name: "Logging", package: "swift-log", condition: server),
            ]
        ),
        .testTarget(name: "SkyrowConcurrencyTests", dependencies: ["SkyrowConcurrency", "SkyrowTestSupport"]),
        .testTarget(name: "SkyrowModelTests", dependencies: ["SkyrowModel", "SkyrowTestSupport"]),
        .testTarget(name: "SkyrowJSONTests", dependencies: ["SkyrowJSON", "SkyrowModel", "SkyrowTestSupport"]),
        .testTarget(
            name: "SkyrowProtocolTests",
            dependencies: ["SkyrowJSON", "SkyrowModel", "SkyrowProtocol", "SkyrowTestSupport"]
        ),
        .testTarget(
            name: "SkyrowQueryTests",
            dependencies: ["SkyrowJSON", "SkyrowModel", "SkyrowQuery", "SkyrowTestSupport"]
        ),
        .testTarget(name: "SkyrowCryptoTests", dependencies: ["SkyrowCrypto", "SkyrowJSON"]),
        .testTarget(
            name: "SkyrowPostgresTests",
            dependencies: [
                "SkyrowPostgres", "SkyrowTestSupport",
                .product(name: "Logging", package: "swift-log", condition: server),
            ]
        ),
        .testTarget(name: "SkyrowRemoteTests", dependencies: ["SkyrowModel", "SkyrowRemote", "SkyrowTestSupport"]),
        .testTarget(
            name: "SkyrowStoreTests",
            dependencies: [
                "SkyrowCrypto", "SkyrowJSON", "SkyrowMaintenance", "SkyrowModel", "SkyrowPostgres", "SkyrowQuery",
                "SkyrowStore", "SkyrowProtocol", "SkyrowTestSupport",
                .product(name: "Logging", package: "swift-log", condition: server),
            ]
        ),
        .testTarget(
            name: "SkyrowActionsTests",
            dependencies: [
                .target(name: "CGlibc", condition: server),
                "SkyrowActions", "SkyrowConcurrency", "SkyrowCrypto", "SkyrowJSON", "SkyrowMaintenance", "SkyrowModel",
                "SkyrowPostgres", "SkyrowProtocol", "SkyrowQuery", "SkyrowRemote", "SkyrowStore", "SkyrowSystem",
                "SkyrowTestSupport",
                .product(name: "Logging", package: "swift-log", condition: server),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: server),
            ]
        ),
        .testTarget(
            name: "SkyrowHTTPTests",
            dependencies: [
                "SkyrowActions", "SkyrowConcurrency", "SkyrowHTTP", "SkyrowJSON", "SkyrowModel", "SkyrowPostgres",
                "SkyrowProtocol", "SkyrowRemote", "SkyrowStore", "SkyrowSystem", "SkyrowTestSupport",
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing", condition: server),
                .product(name: "Logging", package: "swift-log", condition: server),
                .product(name: "Metrics", package: "swift-metrics", condition: server),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: server),
                .product(name: "NIOCore", package: "swift-nio", condition: server),
                .product(name: "NIOEmbedded", package: "swift-nio", condition: server),
                .product(name: "NIOHPACK", package: "swift-nio-http2", condition: server),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: server),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: server),
                .product(name: "NIOPosix", package: "swift-nio", condition: server),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: server),
                .product(name: "NIOWebSocket", package: "swift-nio", condition: server),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: server),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: server),
            ]
        ),
        .testTarget(
            name: "SkyrowClientTests",
            dependencies: ["SkyrowClient", "SkyrowJSON", "SkyrowModel", "SkyrowProtocol", "SkyrowTestSupport"]
        ),
        .testTarget(
            name: "SkyrowMaintenanceTests",
            dependencies: [
                "SkyrowActions", "SkyrowCrypto", "SkyrowMaintenance", "SkyrowModel", "SkyrowPostgres", "SkyrowProtocol",
                "SkyrowQuery", "SkyrowServer", "SkyrowStore", "SkyrowSystem", "SkyrowTestSupport",
                .product(name: "Logging", package: "swift-log", condition: server),
            ]
        ),
        .testTarget(
            name: "SkyrowServerTests",
            dependencies: [
                "SkyrowActions", "SkyrowCrypto", "SkyrowHTTP", "SkyrowModel", "SkyrowPostgres", "SkyrowProtocol",
                "SkyrowRemote", "SkyrowServer", "SkyrowStore", "SkyrowSystem", "SkyrowTestSupport",
                .product(name: "CoreMetrics", package: "swift-metrics", condition: server),
                .product(name: "Logging", package: "swift-log", condition: server),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: server),
            ]
        ),
        .testTarget(
            name: "SkyrowEndToEndTests",
            dependencies: [
                "SkyrowActions", "SkyrowClient", "SkyrowHTTP", "SkyrowMaintenance", "SkyrowModel", "SkyrowPostgres",
                "SkyrowServer",
                "SkyrowStore", "SkyrowSystem", "SkyrowProtocol", "SkyrowTestSupport", "skyrow",
                .product(name: "CoreMetrics", package: "swift-metrics", condition: server),
                .product(name: "Logging", package: "swift-log", condition: server),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// The same compiler settings for every target (Documentation/Decisions/layers-and-targets.md).
for target in package.targets where target.type != .system && target.type != .plugin {
    var settings = target.swiftSettings ?? []
    // A compiler that is newer than this source may warn of more; it still builds. In tests, macros of Swift Testing warn.
    if Context.environment["CI"] == "true", target.type != .test { settings.append(.treatAllWarnings(as: .error)) }
    settings += [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
    target.swiftSettings = settings
}

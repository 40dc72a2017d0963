// swift-tools-version: 6.2
import PackageDescription

/// An application that uses `SkyrowClient` and nothing of the server (scripts/check-client-only builds and runs it).
let package = Package(
    name: "ClientOnly",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "skyrow", path: "../../..", traits: [])
    ],
    targets: [
        .executableTarget(name: "ClientOnly", dependencies: [.product(name: "SkyrowClient", package: "skyrow")])
    ]
)

// swift-tools-version: 6.2
import PackageDescription

/// Two terminals that watch one shared list. It uses `SkyrowClient` alone, so no other package is resolved.
let package = Package(
    name: "SharedList",
    platforms: [.macOS(.v15)],
    dependencies: [
        // An application of your own names the repository in place of the path.
        .package(name: "skyrow", path: "../..", traits: [])
    ],
    targets: [
        .executableTarget(name: "SharedList", dependencies: [.product(name: "SkyrowClient", package: "skyrow")])
    ]
)

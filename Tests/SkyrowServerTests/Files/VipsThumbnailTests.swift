import Foundation
import SkyrowActions
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

/// Thumbnails of the program that makes them.
@Suite struct VipsThumbnailTests {
    private static let images: [(ImageFormat, [UInt8])] = [
        (.jpeg, TestImage.jpeg), (.png, TestImage.png), (.gif, TestImage.gif), (.webp, TestImage.webp),
    ]

    /// Makes a thumbnail; throws ``ThumbnailFault``.
    private static func thumbnail(
        _ size: ThumbnailSize,
        _ format: ImageFormat,
        of image: [UInt8],
        by maker: VipsThumbnails = VipsThumbnails()
    ) async throws -> [UInt8] {
        let (source, result) = try (FileDescriptor.temporary(), FileDescriptor.temporary())
        try source.write(image)
        _ = lseek(source.number, 0, SEEK_SET)
        do {
            try await maker.make(size, format, of: source, to: result)
        } catch ThumbnailFault.notInstalled where maker.isInstalled == VipsThumbnails().isInstalled {
            Issue.record("vipsthumbnail is missing: run scripts/setup test.")
            throw ThumbnailFault.notInstalled
        }
        return try result.bytes(at: 0, upTo: 1 << 20)
    }

    @Test func aThumbnailHasTheFormatAndTheShape() async throws {
        let rows: [(ThumbnailSize, Int, Int)] = [
            (.fill(width: 100, height: 100), 100, 100), (.fit(width: 100, height: 100), 100, 67),
            (.width(150), 150, 100), (.height(50), 75, 50),
            // No image is enlarged.
            (.fill(width: 100, height: 400), 100, 200), (.fill(width: 400, height: 400), 300, 200),
            (.fit(width: 400, height: 400), 300, 200), (.width(400), 300, 200), (.height(400), 300, 200),
        ]
        for (format, image) in Self.images {
            for (size, width, height) in rows {
                let made = try await Self.thumbnail(size, format, of: image)
                let header = try #require(ImageHeader(made), "\(format) \(size)")
                #expect(header.format == format)
                #expect(header.size == PixelSize(width: width, height: height), "\(format) \(size)")
            }
        }
    }

    /// A photo is turned, and what it says of its place and its camera is removed.
    @Test func metadataDoesNotLeave() async throws {
        let secret = Array(TestImage.secret.utf8)
        let text = TestImage.pngChunk("tEXt", TestImage.join(Array("Comment\0".utf8), secret))
        let exif = TestImage.pngChunk("eXIf", TestImage.tiff(orientation: 1))
        let comment = TestImage.join([0x21, 0xFE, UInt8(secret.count)], secret, [0])
        // Behind the palette of two colours.
        let start = 13 + 6
        let webp = try #require(WebPContainer.withoutMetadata(TestImage.webp))
        let pixels = Array(webp.dropFirst(12 + 18))
        let rows: [(ImageFormat, [UInt8], Int, Int)] = [
            (.jpeg, TestImage.jpegImage(with: TestImage.exif(orientation: 6)), 67, 100),
            (.jpeg, TestImage.jpegImage(with: TestImage.segment(0xFE, secret)), 100, 67),
            (.png, TestImage.pngImage(width: 300, height: 200, chunks: TestImage.join(text, exif)), 100, 67),
            (
                .gif,
                TestImage.join(Array(TestImage.gif.prefix(start)), comment, Array(TestImage.gif.dropFirst(start))),
                100, 67
            ),
            (
                .webp,
                TestImage.webpFile(
                    TestImage.join(
                        TestImage.webpCanvas(300, 200, flags: 0x0C),
                        pixels,
                        TestImage.webpChunk("EXIF", TestImage.tiff(orientation: 6)),
                        TestImage.webpChunk("XMP ", secret)
                    )
                ),
                67, 100
            ),
        ]
        for (format, image, width, height) in rows {
            #expect(contains(image, secret), "\(format)")
            let made = try await Self.thumbnail(.fit(width: 100, height: 100), format, of: image)
            #expect(ImageHeader(made)?.size == PixelSize(width: width, height: height), "\(format)")
            #expect(!contains(made, secret) && !contains(made, Array("Exif".utf8)), "\(format)")
        }
    }

    private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        bytes.indices.contains { bytes[$0...].starts(with: part) }
    }

    // MARK: - Limits

    @Test func aChildThatTakesTooLongIsKilled() async throws {
        let patient = VipsThumbnails()
        _ = try await Self.thumbnail(.width(100), .jpeg, of: TestImage.jpeg, by: patient)
        let hasty = VipsThumbnails(time: .zero)
        let fault = await #expect(throws: ThumbnailFault.self) {
            _ = try await Self.thumbnail(.width(100), .jpeg, of: TestImage.jpeg, by: hasty)
        }
        guard case .undecodable(let reason)? = fault else {
            Issue.record("\(String(describing: fault))")
            return
        }
        #expect(reason.hasPrefix("vipsthumbnail ended with signal 9"))
    }

    @Test func aChildEndsWithTheTaskThatWantsIt() async throws {
        let task = Task {
            // The task is cancelled before the child starts.
            while !Task.isCancelled { await Task.yield() }
            return try await Self.thumbnail(.width(100), .jpeg, of: TestImage.jpeg)
        }
        task.cancel()
        let outcome = await task.result
        #expect(throws: ThumbnailFault.cancelled) { try outcome.get() }
    }

    /// Where the programs that it needs are not installed, or not the right ones.
    @Test func anotherProgramMakesNoThumbnail() async throws {
        let folder = try TemporaryDirectory()
        let maker = VipsThumbnails(in: [folder.path, "/usr/bin", "/bin"])
        func install(_ script: String) throws {
            let path = folder.path + "/vipsthumbnail"
            try "#!/bin/sh\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
        let absent = VipsThumbnails(in: [folder.path])
        #expect(!absent.isInstalled)
        await #expect(throws: ThumbnailFault.notInstalled) {
            _ = try await Self.thumbnail(.width(100), .jpeg, of: TestImage.jpeg, by: absent)
        }
        let rows = [
            ("exit 0", "vipsthumbnail wrote no image: "),
            ("echo '<script>alert(1)</script>'", "vipsthumbnail wrote no image: "),
            ("printf 'GIF89a'", "vipsthumbnail wrote no image: "),
            ("exit 3", "vipsthumbnail ended with exit code 3: "),
            ("printf 'a\\n\\tb\\033c' >&2; exit 1", "vipsthumbnail ended with exit code 1: a b c"),
            ("kill -SEGV $$", "vipsthumbnail ended with signal 11: "),
        ]
        for (script, reason) in rows {
            try install(script)
            await #expect(throws: ThumbnailFault.undecodable(reason), "\(script)") {
                _ = try await Self.thumbnail(.width(100), .jpeg, of: TestImage.jpeg, by: maker)
            }
        }
        // It does not wait for a reader of its messages, of which 4 KB are kept.
        try install(
            "i=0; while [ $i -lt 3000 ]; do echo 'a warning of forty bytes, once and again.' >&2; i=$((i+1)); done; exit 1"
        )
        let fault = await #expect(throws: ThumbnailFault.self) {
            _ = try await Self.thumbnail(.width(100), .jpeg, of: TestImage.jpeg, by: maker)
        }
        guard case .undecodable(let reason)? = fault else {
            Issue.record("\(String(describing: fault))")
            return
        }
        #expect((4000...4200).contains(reason.utf8.count))
    }

    /// What the child finds: limits, no environment of the service, no other descriptors.
    @Test func theChildHasLimitsAndNothingOfTheService() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/vipsthumbnail"
        let script = """
            #!/bin/sh
            { ulimit -t; ulimit -v; ulimit -c; ulimit -n; ls /proc/self/fd; tr '\\0' '\\n' </proc/self/environ; } >'\(folder.path)/found'
            exit 1
            """
        try script.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        let maker = VipsThumbnails(in: [folder.path, "/usr/bin", "/bin"])
        await #expect(throws: ThumbnailFault.self) {
            _ = try await Self.thumbnail(.width(100), .jpeg, of: TestImage.jpeg, by: maker)
        }
        let found = try #require(contentsOfFile(folder.path + "/found")).split(separator: "\n").map(String.init)
        #expect(found.prefix(4) == ["10", "1048576", "0", "64"])
        // Those of the child, of the directory that is listed, and of the shell, which redirects its output.
        let descriptors = found.dropFirst(4).prefix { Int($0) != nil }
        #expect(Set(descriptors).isSuperset(of: ["0", "1", "2"]))
        #expect(Set(descriptors).isSubset(of: ["0", "1", "2", "3", "10"]))
        let variables = found.dropFirst(4 + descriptors.count).compactMap {
            $0.split(separator: "=").first.map(String.init)
        }
        let expected: Set = [
            "PATH", "VIPS_BLOCK_UNTRUSTED", "VIPSHOME", "VIPS_CONCURRENCY", "VIPS_DISC_THRESHOLD", "VIPS_NOVECTOR",
        ]
        // What a shell sets itself.
        #expect(Set(variables).subtracting(["PWD", "OLDPWD", "SHLVL", "_"]) == expected)
    }
}

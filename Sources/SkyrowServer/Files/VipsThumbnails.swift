import Glibc
package import SkyrowActions
package import SkyrowModel
package import SkyrowSystem
import Synchronization

/// Makes thumbnails with `vipsthumbnail`, of Debian's package `libvips-tools`, in a child process with limits.
///
/// ```
/// unshare --net prlimit --cpu=10 --as=1073741824 … vipsthumbnail 'stdin[fail_on=truncated]' --size 400x400> -o '.jpg[Q=80,strip]'
/// ```
///
/// The child reads the image from its descriptor 0 and writes the thumbnail to its descriptor 1. It has no other file, no network
/// where the system permits that, and nothing of the service's environment.
package final class VipsThumbnails: ThumbnailMaker {
    /// The package that has the program.
    package static let package = "libvips-tools"

    package static let program = "vipsthumbnail"
    /// Processor time in seconds, address space, and the bytes of what it writes.
    private static let limits = [
        "--cpu=10", "--as=\(1 << 30)", "--fsize=\(32 << 20)", "--core=0", "--nofile=64",
    ]
    /// Upper bound on the bytes of its error messages that are kept.
    private static let maximumComplaint = 4096

    /// Where the programs are.
    private let directories: [String]
    private let time: Duration
    /// The words that start a program without a network; nil until they are known.
    private let isolation = Mutex<[String]?>(nil)

    /// - Parameters:
    ///   - directories: where the programs are looked up.
    ///   - time: how long a child may run.
    package init(
        in directories: [String] = ["/usr/local/bin", "/usr/bin", "/bin"],
        time: Duration = .seconds(10)
    ) {
        self.directories = directories
        self.time = time
    }

    /// Whether the program is installed.
    package var isInstalled: Bool { path(of: Self.program) != nil }

    private func path(of program: String) -> String? {
        directories.map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    // MARK: - Making

    package func make(
        _ size: ThumbnailSize,
        _ format: ImageFormat,
        of image: FileDescriptor,
        to thumbnail: FileDescriptor
    ) async throws(ThumbnailFault) {
        let programs = await FileThreads.reading.look { [self] in (path(of: Self.program), path(of: "prlimit")) }
        guard let vips = programs.0 else { throw .notInstalled }
        guard let prlimit = programs.1 else { throw .unavailable(.unavailable("The program prlimit is missing.")) }
        let words = await isolatingWords + [prlimit] + Self.limits + [vips] + Self.arguments(size, format)
        let (exit, complaint) = try await run(words, [image, thumbnail])
        guard !Task.isCancelled || exit == .exited(0) else { throw .cancelled }
        // The status of `unshare` and `prlimit` when they cannot start the next program.
        if case .exited(126...127) = exit {
            throw .unavailable(.unavailable("vipsthumbnail cannot be started: \(complaint)"))
        }
        guard exit == .exited(0) else { throw .undecodable("vipsthumbnail ended with \(exit): \(complaint)") }
        guard try await isFinished(thumbnail, format) else {
            throw .undecodable("vipsthumbnail wrote no image: \(complaint)")
        }
    }

    /// Removes the metadata that is left, and returns whether the thumbnail is an image of its format.
    private func isFinished(_ thumbnail: FileDescriptor, _ format: ImageFormat) async throws(ThumbnailFault) -> Bool {
        do throws(FileFault) {
            return try await FileThreads.writing.run { () throws(FileFault) in
                guard format == .webp else {
                    return SniffedType.of(try thumbnail.bytes(at: 0, upTo: SniffedType.examinedBytes))
                        == format.rawValue
                }
                // The option `strip` of libvips 8.14 leaves EXIF in WebP images.
                let size = Int(lseek(thumbnail.number, 0, SEEK_END))
                guard let image = WebPContainer.withoutMetadata(try thumbnail.bytes(at: 0, upTo: max(size, 0))) else {
                    return false
                }
                guard lseek(thumbnail.number, 0, SEEK_SET) == 0, ftruncate(thumbnail.number, 0) == 0 else {
                    throw .system("Cannot write a thumbnail")
                }
                try thumbnail.put(image)
                return true
            }
        } catch {
            throw .unavailable(error)
        }
    }

    /// Returns the words behind the name of the program.
    static func arguments(_ size: ThumbnailSize, _ format: ImageFormat) -> [String] {
        // With `>` no image is enlarged.
        let shape =
            switch size {
            case .fill(let width, let height): ["--size", "\(width)x\(height)>", "--smartcrop", "centre"]
            case .fit(let width, let height): ["--size", "\(width)x\(height)>"]
            case .width(let width): ["--size", "\(width)x>"]
            case .height(let height): ["--size", "x\(height)>"]
            }
        let output =
            switch format {
            case .jpeg, .avif: ".jpg[Q=80,strip]"
            case .webp: ".webp[Q=80,strip]"
            case .png: ".png[strip]"
            case .gif: ".gif[strip]"
            }
        // Colours are converted, since the profile is stripped too.
        return ["stdin[fail_on=truncated]"] + shape + ["--export-profile", "srgb", "-o", output]
    }

    private static let environment = [
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        // Only the decoders that libvips trusts: none for SVG and PDF.
        "VIPS_BLOCK_UNTRUSTED": "1",
        // No decoder that libvips loads, as those of ImageMagick are; that takes a fifth of the time, too.
        "VIPSHOME": "/nonexistent",
        "VIPS_CONCURRENCY": "1",
        // Memory counts, and files do not.
        "VIPS_DISC_THRESHOLD": "2g",
        // No code is generated, which a service of systemd may not execute.
        "VIPS_NOVECTOR": "1",
    ]

    /// Runs a program until it ends, or the time has passed, or the task is cancelled.
    ///
    /// - Returns: how it ended, and the first of its error messages in one line.
    private func run(
        _ words: [String],
        _ descriptors: [FileDescriptor]
    ) async throws(ThumbnailFault) -> (ProcessExit, String) {
        let process: ChildProcess
        let complaints: FileDescriptor
        do throws(ToolError) {
            let (reading, writing) = try FileDescriptor.pipe()
            // Messages that are not read are lost, and do not hold up the child.
            for end in [reading, writing] { _ = fcntl(end.number, F_SETFL, O_NONBLOCK) }
            complaints = reading
            var command = Command(words, environment: Self.environment, descriptors: descriptors + [writing])
            command.leavesProcessGroup = true
            process = try await ChildProcess.launch(command)
        } catch {
            throw .unavailable(.unavailable(error.description))
        }
        let exit = await process.exit { [time] in try await ServiceTimer.sleep(for: time) }
        return (exit, Self.line((try? complaints.read(upTo: Self.maximumComplaint)) ?? []))
    }

    /// Returns messages as text without control characters and repeated spaces.
    private static func line(_ messages: [UInt8]) -> String {
        let plain = messages.map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: " ") : $0 }
        return String(decoding: plain, as: UTF8.self).split(separator: " ").joined(separator: " ")
    }

    // MARK: - Without a network

    /// The words that start a program without a network, as root or in a user namespace; none where the system permits neither.
    private var isolatingWords: [String] {
        get async {
            if let known = isolation.withLock({ $0 }) { return known }
            var found: [String] = []
            let programs = await FileThreads.reading.look { [self] in (path(of: "unshare"), path(of: "true")) }
            if let unshare = programs.0, let nothing = programs.1,
                let null = try? FileDescriptor(opening: "/dev/null", O_RDWR)
            {
                for words in [[unshare, "--net"], [unshare, "--user", "--net"]] where found.isEmpty {
                    let outcome = try? await run(words + [nothing], [null, null])
                    if outcome?.0 == .exited(0) { found = words }
                }
            }
            // A cancelled look has found nothing.
            if !Task.isCancelled { isolation.withLock { $0 = found } }
            return found
        }
    }
}

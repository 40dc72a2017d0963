/// The media type of a file by the signature in its first bytes.
///
/// No signature stands for HTML, SVG, XML or a script: a type that a browser runs is never guessed.
///
/// ```swift
/// SniffedType.of("GIF89a…".utf8)   // image/gif
/// SniffedType.of("<html>".utf8)    // nil
/// ```
package enum SniffedType {
    /// How many bytes of a file are examined.
    package static let examinedBytes = 512

    /// Returns the type of a file that begins with these bytes; nil for unknown ones.
    package static func of(_ first: some Collection<UInt8>) -> String? {
        let start = FileStart(bytes: Array(first.prefix(examinedBytes)))
        return signatures.lazy.compactMap { $0(start) }.first
    }

    /// Whether a file may have the declared type, given its first bytes.
    ///
    /// `video/mp4` agrees with `audio/mp4`, since both have the same signature. No signature agrees with `text/csv`, but not with
    /// `image/png`, since such a file has one.
    package static func agrees(_ sniffed: String?, with declared: MediaType) -> Bool {
        let type = declared.canonical
        let family = families.first { $0.contains(type.rawValue) }
        guard let sniffed else { return family == nil }
        return family?.contains(sniffed) ?? (sniffed == "application/zip" && isArchive(type))
    }

    /// Returns the type by which a file is judged: the declared one if its first bytes agree, else the one that these show.
    package static func judged(declared: MediaType, sniffed: String?) -> MediaType {
        guard let sniffed, !agrees(sniffed, with: declared) else { return declared.canonical }
        return MediaType(known: sniffed)
    }

    /// Returns the type under which a file is stored.
    ///
    /// It is the declared type. If that says nothing, as `application/octet-stream` or the type of forms that `curl` declares, it
    /// is the one of the extension or the one that the first bytes show. A type that a browser runs is taken from the
    /// extension only if none is declared.
    package static func stored(declared: MediaType?, filename: String, sniffed: String?) -> MediaType {
        if let declared, declared.canonical != .octetStream, declared.rawValue != "application/x-www-form-urlencoded" {
            return declared
        }
        let named = MediaTypes.type(ofFilename: filename).map { MediaType(known: $0) }
        if let named, agrees(sniffed, with: named), declared == nil || !named.isActive { return named }
        return sniffed.map { MediaType(known: $0) } ?? .octetStream
    }

    /// The types whose files have a signature; only what follows the signature distinguishes those of one set.
    private static let families: [Set<String>] = [
        ["image/png", "image/apng"], ["image/jpeg"], ["image/gif"], ["image/webp"], ["image/avif"], ["image/bmp"],
        ["image/heic", "image/heif", "image/heic-sequence", "image/heif-sequence"],
        ["image/tiff"], ["image/vnd.microsoft.icon"],
        ["video/mp4", "audio/mp4", "video/quicktime", "video/3gpp", "audio/3gpp", "video/3gpp2", "audio/3gpp2"],
        ["video/webm", "audio/webm", "video/matroska", "audio/matroska"],
        ["audio/ogg", "video/ogg", "application/ogg", "audio/opus"],
        ["audio/mpeg"], ["audio/aac"], ["audio/wav"], ["audio/flac"], ["video/x-msvideo"],
        ["application/pdf"], ["application/zip"], ["application/gzip"],
    ]

    /// Whether files of the type are ZIP archives: office documents, books and programs.
    private static func isArchive(_ type: MediaType) -> Bool {
        type.rawValue.hasSuffix("+zip") || type.rawValue.hasPrefix("application/vnd.openxmlformats-officedocument.")
            || type.rawValue.hasPrefix("application/vnd.oasis.opendocument.")
            || ["application/java-archive", "application/vnd.android.package-archive"].contains(type.rawValue)
    }

    // MARK: - Signatures

    private static let signatures: [@Sendable (FileStart) -> String?] = [
        { $0.begins(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) ? "image/png" : nil },
        { $0.begins(with: [0xFF, 0xD8, 0xFF]) ? "image/jpeg" : nil },
        { $0.begins(with: "GIF87a") || $0.begins(with: "GIF89a") ? "image/gif" : nil },
        { $0.begins(with: "RIFF") && $0.has("WEBP", at: 8) ? "image/webp" : nil },
        { $0.begins(with: "RIFF") && $0.has("WAVE", at: 8) ? "audio/wav" : nil },
        { $0.begins(with: "RIFF") && $0.has("AVI ", at: 8) ? "video/x-msvideo" : nil },
        { $0.isBitmap ? "image/bmp" : nil },
        { $0.isIcon ? "image/vnd.microsoft.icon" : nil },
        { $0.begins(with: "II*\0") || $0.begins(with: "MM\0*") ? "image/tiff" : nil },
        // AVIF, HEIC, MP4, 3GP and QuickTime
        { $0.baseMediaType },
        // WebM and Matroska
        { $0.matroskaType },
        { $0.isTaggedMP3 || $0.isMP3Frame ? "audio/mpeg" : nil },
        { $0.isADTSFrame ? "audio/aac" : nil },
        { $0.oggType },
        { $0.begins(with: "fLaC") ? "audio/flac" : nil },
        { $0.begins(with: "%PDF-") ? "application/pdf" : nil },
        // An archive, and an empty one
        { $0.begins(with: "PK\u{3}\u{4}") || $0.begins(with: "PK\u{5}\u{6}") ? "application/zip" : nil },
        { $0.begins(with: [0x1F, 0x8B, 0x08]) ? "application/gzip" : nil },
    ]
}

/// The first bytes of a file.
private struct FileStart {
    let bytes: [UInt8]

    func has(_ part: some Collection<UInt8>, at offset: Int) -> Bool {
        bytes.count - offset >= part.count && bytes[offset...].starts(with: part)
    }

    func has(_ text: String, at offset: Int) -> Bool { has(text.utf8, at: offset) }

    func begins(with part: [UInt8]) -> Bool { has(part, at: 0) }

    func begins(with text: String) -> Bool { has(text.utf8, at: 0) }

    // MARK: - Images

    /// Texts begin with `BM`, too, so the reserved bytes and the size of the second header are compared as well.
    var isBitmap: Bool {
        begins(with: "BM") && has([0, 0, 0, 0], at: 6) && has([0, 0, 0], at: 15)
            && [12, 40, 52, 56, 64, 108, 124].contains(bytes[14])
    }

    var isIcon: Bool {
        // At least one image, whose entry has a reserved zero.
        begins(with: [0, 0, 1, 0]) && bytes.count >= 10 && bytes[4...5] != [0, 0] && bytes[9] == 0
    }

    // MARK: - Sound and video

    /// The type by the brands of an ISO base media file: the major one, then the compatible ones.
    var baseMediaType: String? {
        guard has("ftyp", at: 4), bytes.count >= 12 else { return nil }
        let size = bytes[..<4].reduce(0) { $0 << 8 | Int($1) }
        guard size >= 16, size % 4 == 0 else { return nil }
        let brands = stride(from: 8, through: min(size, bytes.count) - 4, by: 4).filter { $0 != 12 }
            .map { String(decoding: bytes[$0..<$0 + 4], as: UTF8.self) }
        // The brands of images say which coding a file with the brand of all of them has.
        if ["mif1", "msf1"].contains(brands[0]) {
            return brands.dropFirst().lazy.compactMap { Self.imageBrands[$0] }.first ?? "image/heif"
        }
        return brands.lazy.compactMap { Self.imageBrands[$0] ?? Self.videoType(ofBrand: $0) }.first
    }

    private static let imageBrands = [
        "avif": "image/avif", "avis": "image/avif", "heic": "image/heic", "heix": "image/heic", "heim": "image/heic",
        "heis": "image/heic", "hevc": "image/heic", "hevx": "image/heic", "hevm": "image/heic", "hevs": "image/heic",
    ]

    private static func videoType(ofBrand brand: String) -> String? {
        switch brand {
        case "qt  ": "video/quicktime"
        case "M4A ", "M4B ", "M4P ", "F4A ", "F4B ": "audio/mp4"
        case "M4V ", "F4V ", "avc1", "dash", "isom", "MSNV", "cmfc": "video/mp4"
        default:
            if brand.hasPrefix("mp4") || brand.hasPrefix("iso") {
                "video/mp4"
            } else if brand.hasPrefix("3gp") {
                "video/3gpp"
            } else {
                brand.hasPrefix("3g2") ? "video/3gpp2" : nil
            }
        }
    }

    /// The type by the element DocType of an EBML header, which stands in its first bytes.
    var matroskaType: String? {
        guard begins(with: [0x1A, 0x45, 0xDF, 0xA3]) else { return nil }
        for start in bytes.indices.prefix(64) where has([0x42, 0x82], at: start) {
            if has([0x84] + "webm".utf8, at: start + 2) { return "video/webm" }
            if has([0x88] + "matroska".utf8, at: start + 2) { return "video/matroska" }
        }
        return nil
    }

    /// Whether the file begins with an ID3 tag of version 2, whose size has four bytes below 0x80.
    var isTaggedMP3: Bool {
        begins(with: "ID3") && bytes.count >= 10 && (2...4).contains(bytes[3]) && bytes[4] < 0xFF
            && bytes[6...9].allSatisfy { $0 < 0x80 }
    }

    /// Whether the file begins with a frame of MPEG audio, layer 3, and the next frame follows if it stands in the first bytes.
    var isMP3Frame: Bool {
        guard let length = mp3FrameLength(at: 0) else { return false }
        return length > bytes.count - 4 || mp3FrameLength(at: length) != nil
    }

    private func mp3FrameLength(at offset: Int) -> Int? {
        guard bytes.count - offset >= 4, bytes[offset] == 0xFF, bytes[offset + 1] & 0xE6 == 0xE2 else { return nil }
        let version = Int(bytes[offset + 1] >> 3 & 3)
        let bitrate = Int(bytes[offset + 2] >> 4)
        let rate = Int(bytes[offset + 2] >> 2 & 3)
        guard version != 1, bitrate != 0, bitrate != 15, rate != 3 else { return nil }
        let isFirstVersion = version == 3
        let rates = [44_100, 48_000, 32_000]
        let kilobits =
            isFirstVersion
            ? [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
            : [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
        // Version 2 halves the rates, and version 2.5 does so again.
        let samplesPerSecond = rates[rate] / (isFirstVersion ? 1 : version == 2 ? 2 : 4)
        let padding = Int(bytes[offset + 2] >> 1 & 1)
        return (isFirstVersion ? 144_000 : 72_000) * kilobits[bitrate] / samplesPerSecond + padding
    }

    /// Whether the file begins with an ADTS frame, and the next one follows if it stands in the first bytes.
    var isADTSFrame: Bool {
        guard let length = adtsFrameLength(at: 0) else { return false }
        return length > bytes.count - 7 || adtsFrameLength(at: length) != nil
    }

    private func adtsFrameLength(at offset: Int) -> Int? {
        guard bytes.count - offset >= 7, bytes[offset] == 0xFF, bytes[offset + 1] & 0xF6 == 0xF0,
            bytes[offset + 2] >> 2 & 0xF < 13
        else { return nil }
        let length = Int(bytes[offset + 3] & 3) << 11 | Int(bytes[offset + 4]) << 3 | Int(bytes[offset + 5] >> 5)
        return length >= 7 ? length : nil
    }

    /// The type by the header of the first stream, which follows the header of a page with one segment.
    var oggType: String? {
        guard begins(with: "OggS\0") else { return nil }
        let hasSound = ["OpusHead", "\u{1}vorbis", "Speex  ", "\u{7F}FLAC"].contains { has($0, at: 28) }
        if hasSound { return "audio/ogg" }
        return has([0x80] + "theora".utf8, at: 28) ? "video/ogg" : "application/ogg"
    }
}

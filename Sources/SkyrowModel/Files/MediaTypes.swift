/// The media types of usual file names.
package enum MediaTypes {
    /// Returns the type of an extension without its dot, in any case; nil for an unknown one.
    ///
    /// ```swift
    /// MediaTypes.type(ofExtension: "PNG")   // image/png
    /// ```
    package static func type(ofExtension name: some StringProtocol) -> String? {
        name.utf8.count <= 8 ? types[name.lowercased()] : nil
    }

    /// Returns the type of a file by the extension of its name, such as `cat.png`; nil without a known extension.
    package static func type(ofFilename name: String) -> String? {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        return type(ofExtension: name[dot...].dropFirst())
    }

    /// Returns the name of a file without one: a stem, and the extension of its type if that is known.
    ///
    /// ```swift
    /// MediaTypes.filename(of: "photo", type: "image/png")   // photo.png
    /// ```
    package static func filename(of stem: String, type: String) -> String {
        guard let type = MediaType(type)?.canonical.rawValue, let name = extensions[type] else { return stem }
        return "\(stem).\(name)"
    }

    /// An extension of each type: its subtype, or else the shortest one, and of these the last in the alphabet.
    private static let extensions = Dictionary(grouping: types.keys) { types[$0] ?? "" }.compactMapValues { names in
        names.max { isBetter($1, $0) }
    }

    private static func isBetter(_ name: String, _ other: String) -> Bool {
        func isSubtype(_ name: String) -> Bool { types[name]?.hasSuffix("/\(name)") ?? false }
        if isSubtype(name) != isSubtype(other) { return isSubtype(name) }
        return name.utf8.count == other.utf8.count ? name > other : name.utf8.count < other.utf8.count
    }

    private static let types = [
        // Images
        "apng": "image/apng", "avif": "image/avif", "bmp": "image/bmp", "gif": "image/gif", "heic": "image/heic",
        "heif": "image/heif", "ico": "image/vnd.microsoft.icon", "jpeg": "image/jpeg", "jpg": "image/jpeg",
        "png": "image/png", "svg": "image/svg+xml", "tif": "image/tiff", "tiff": "image/tiff", "webp": "image/webp",
        // Sound
        "aac": "audio/aac", "flac": "audio/flac", "m4a": "audio/mp4", "mid": "audio/midi", "midi": "audio/midi",
        "mp3": "audio/mpeg", "oga": "audio/ogg", "ogg": "audio/ogg", "opus": "audio/ogg", "wav": "audio/wav",
        "weba": "audio/webm",
        // Video
        "3gp": "video/3gpp", "avi": "video/x-msvideo", "m4v": "video/mp4", "mkv": "video/matroska",
        "mov": "video/quicktime", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg", "ogv": "video/ogg",
        "webm": "video/webm",
        // Text
        "css": "text/css", "csv": "text/csv", "htm": "text/html", "html": "text/html", "ics": "text/calendar",
        "js": "text/javascript", "log": "text/plain", "md": "text/markdown", "mjs": "text/javascript",
        "txt": "text/plain", "vcf": "text/vcard", "xhtml": "application/xhtml+xml", "xml": "application/xml",
        // Documents
        "doc": "application/msword", "epub": "application/epub+zip", "json": "application/json",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
        "pdf": "application/pdf", "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rtf": "application/rtf", "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        // Archives, fonts and programs
        "7z": "application/x-7z-compressed", "gz": "application/gzip", "otf": "font/otf", "rar": "application/vnd.rar",
        "tar": "application/x-tar", "ttf": "font/ttf", "wasm": "application/wasm", "woff": "font/woff",
        "woff2": "font/woff2", "zip": "application/zip",
    ]

    /// Names that clients use, and the ones that are registered for the same types.
    static let registeredNames = [
        "application/x-gzip": "application/gzip", "application/x-pdf": "application/pdf",
        "application/x-zip-compressed": "application/zip", "audio/aacp": "audio/aac", "audio/m4a": "audio/mp4",
        "audio/mp3": "audio/mpeg", "audio/vnd.wave": "audio/wav", "audio/wave": "audio/wav", "audio/x-aac": "audio/aac",
        "audio/x-flac": "audio/flac", "audio/x-m4a": "audio/mp4", "audio/x-matroska": "audio/matroska",
        "audio/x-mp3": "audio/mpeg", "audio/x-mpeg": "audio/mpeg", "audio/x-wav": "audio/wav",
        "binary/octet-stream": "application/octet-stream", "image/ico": "image/vnd.microsoft.icon",
        "image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-bmp": "image/bmp",
        "image/x-icon": "image/vnd.microsoft.icon", "image/x-ms-bmp": "image/bmp", "image/x-png": "image/png",
        "video/avi": "video/x-msvideo", "video/x-m4v": "video/mp4", "video/x-matroska": "video/matroska",
    ]
}

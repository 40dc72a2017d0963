import Foundation
import SkyrowActions
import SkyrowModel

@testable import SkyrowServer
@testable import SkyrowSystem

/// Makes the name of a file whose UUID begins with these two digits.
func fileName(_ shard: String = "7b", _ number: Int = 1, _ filename: String = "cat.png") -> AssetName {
    let digits = String(number, radix: 16)
    let last = String(repeating: "0", count: 12 - digits.count) + digits
    return AssetName(id: "\(shard)0e2a7c-7135-4912-a6c9-\(last)", filename: filename)
}

extension LocalFileStorage {
    /// Stores a file in parts.
    func store(_ parts: [[UInt8]], as name: AssetName) async throws(FileFault) {
        let file = try await begin(hashesMD5: false)
        for part in parts { try await file.append(part) }
        try await file.keep(as: name)
    }

    func store(_ text: String, as name: AssetName) async throws(FileFault) {
        try await store([Array(text.utf8)], as: name)
    }

    /// The bytes of a file; nil if it does not exist, or if it has another size than the storage says.
    func bytes(of name: AssetName) async throws -> [UInt8]? {
        guard let file = try await open(name) else { return nil }
        let bytes = try file.bytes()
        return bytes.count == file.size ? bytes : nil
    }

    func text(of name: AssetName) async throws -> String? {
        try await bytes(of: name).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension OpenedFile {
    /// Reads the file and closes it.
    func bytes() throws -> [UInt8] {
        guard case .descriptor(let file) = source else { return [] }
        var bytes: [UInt8] = []
        while case let part = try file.read(upTo: 65536), !part.isEmpty { bytes += part }
        return bytes
    }
}

/// What stands in a directory, in order.
func contents(_ path: String) -> [String] {
    (contentsOfDirectory(path) ?? []).sorted()
}

/// The permissions of a file or directory.
func permissions(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
}

/// Sets the time at which a file was last written.
func setTime(_ path: String, _ time: Date) throws {
    try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: path)
}

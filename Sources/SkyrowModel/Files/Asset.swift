/// A file as the value of a field: `{"$type":"asset","$name":"7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png","$url":"https://…"}`.
///
/// Two values are equal if they name the same file.
public struct Asset: Hashable, Sendable {
    public let name: AssetName
    /// Where the file can be downloaded for some minutes; only in what the service sends.
    public var url: String?

    public init(_ name: AssetName, url: String? = nil) {
        self.name = name
        self.url = url
    }

    public static func == (a: Asset, b: Asset) -> Bool { a.name == b.name }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Makes the addresses at which clients download the files of an application.
package protocol AssetLinks: AnyObject, Sendable {
    /// Passes the address of a file to a closure, as text that needs no escapes in JSON.
    ///
    /// - Parameter name: the bytes of an `AssetName`.
    func withAddress(of name: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void)
}

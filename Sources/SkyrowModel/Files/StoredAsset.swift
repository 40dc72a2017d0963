/// What the database knows of a file: a row of `_asset`.
package struct StoredAsset: Hashable, Sendable {
    package enum State: String, Sendable {
        /// The file was announced, and its bytes have not arrived.
        case expected
        /// The bytes are in the storage.
        case stored
    }

    package var name: AssetName
    /// The name that its uploader gave it, in Unicode.
    package var filename: String
    /// The media type without parameters, such as `image/png`.
    package var contentType: String
    /// In bytes.
    package var size: Int64
    package var state: State
    /// The user who uploaded it; nil for an upload with a key alone.
    package var owner: UserID?
    package var storedAt: Timestamp?
    /// The media type that its first bytes show; nil if they show none.
    package var sniffed: String?
    /// Of an image, in pixels; nil if they are not known.
    package var dimensions: PixelSize?

    package init(
        name: AssetName,
        filename: String,
        contentType: String,
        size: Int64,
        state: State,
        owner: UserID?,
        storedAt: Timestamp? = nil,
        sniffed: String? = nil,
        dimensions: PixelSize? = nil
    ) {
        self.name = name
        self.filename = filename
        self.contentType = contentType
        self.size = size
        self.state = state
        self.owner = owner
        self.storedAt = storedAt
        self.sniffed = sniffed
        self.dimensions = dimensions
    }
}

/// The width and the height of an image, in pixels.
public struct PixelSize: Hashable, Sendable {
    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Their product; the largest number if it does not fit.
    package var pixels: Int {
        let (product, isTooLarge) = width.multipliedReportingOverflow(by: height)
        return isTooLarge ? .max : product
    }
}

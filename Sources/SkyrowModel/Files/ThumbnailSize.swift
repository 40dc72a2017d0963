/// The size of a thumbnail, as the parameter `thumb` of an address has it.
///
/// ```swift
/// ThumbnailSize("100x100")    // .fill(width: 100, height: 100)
/// ThumbnailSize("400x400f")   // .fit(width: 400, height: 400)
/// ThumbnailSize("400x0")      // .width(400)
/// ```
///
/// An image is never enlarged: a smaller one keeps its size.
public enum ThumbnailSize: Hashable, Sendable, LosslessStringConvertible {
    /// The centre of the image, as far as it has this shape: `100x100`.
    case fill(width: Int, height: Int)
    /// The whole image within a rectangle: `400x400f`.
    case fit(width: Int, height: Int)
    /// The whole image with this width: `400x0`.
    case width(Int)
    /// The whole image with this height: `0x400`.
    case height(Int)

    /// Upper bound on width and height.
    package static let maximumSide = 4096

    /// Parses a size; nil for any other text, and for a side of more than 4096 pixels.
    public init?(_ text: String) {
        let isFit = text.utf8.last == UInt8(ascii: "f")
        let sides = (isFit ? text.dropLast() : text[...]).split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2, let width = Self.side(sides[0]), let height = Self.side(sides[1]) else { return nil }
        switch (width, height, isFit) {
        case (0, 0, _), (0, _, true), (_, 0, true): return nil
        case (0, _, false): self = .height(height)
        case (_, 0, false): self = .width(width)
        case (_, _, false): self = .fill(width: width, height: height)
        case (_, _, true): self = .fit(width: width, height: height)
        }
    }

    /// The text that ``init(_:)`` parses, and no other one: it is the name of a file.
    public var description: String {
        switch self {
        case .fill(let width, let height): "\(width)x\(height)"
        case .fit(let width, let height): "\(width)x\(height)f"
        case .width(let width): "\(width)x0"
        case .height(let height): "0x\(height)"
        }
    }

    /// Returns a side in decimal digits without leading zeros.
    private static func side(_ text: Substring) -> Int? {
        guard let side = Int(text), (0...maximumSide).contains(side), text.utf8.elementsEqual("\(side)".utf8) else {
            return nil
        }
        return side
    }
}

extension Asset {
    /// Returns the address of a thumbnail of the image; nil without ``url``.
    ///
    /// ```swift
    /// photo.thumbnailURL(.fit(width: 400, height: 400))   // https://example.com/files/7b0e…-cat.jpg?expiredAt=…&thumb=400x400f
    /// ```
    ///
    /// - Parameter size: one that the setting `thumbnail-sizes` of the service has.
    public func thumbnailURL(_ size: ThumbnailSize) -> String? {
        url.map { "\($0)\($0.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")thumb=\(size)" }
    }
}

/// A thumbnail of a file.
package struct Thumbnail: Hashable, Sendable {
    package let asset: AssetName
    package let size: ThumbnailSize

    package init(of asset: AssetName, _ size: ThumbnailSize) {
        self.asset = asset
        self.size = size
    }
}

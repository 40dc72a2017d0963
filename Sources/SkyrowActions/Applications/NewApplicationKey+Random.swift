import SkyrowJSON
package import SkyrowStore

extension NewApplicationKey {
    /// Returns a new key and its text: 256 random bits in hexadecimal, of which the database gets only the hash and the first
    /// characters.
    package static func random(_ kind: ApplicationKey.Kind) -> (text: String, key: NewApplicationKey) {
        var generator = SystemRandomNumberGenerator()
        let text = Hexadecimal.text(of: (0..<4).map { _ in generator.next() })
        let hint = String(text.prefix(ApplicationRegistry.hintLength))
        return (text, NewApplicationKey(kind: kind, hash: TokenHash(of: text).bytes, hint: hint))
    }
}

import SkyrowJSON
package import SkyrowStore

extension NewApplicationKey {
    /// A fresh key and its text, of which the database only ever sees the hash and the first characters: 256 random bits in
    /// hexadecimal.
    package static func random(_ kind: ApplicationKey.Kind) -> (text: String, key: NewApplicationKey) {
        var generator = SystemRandomNumberGenerator()
        let text = Hexadecimal.text(of: (0..<4).map { _ in generator.next() })
        let hint = String(text.prefix(ApplicationRegistry.hintLength))
        return (text, NewApplicationKey(kind: kind, hash: TokenHash(of: text).bytes, hint: hint))
    }
}

import Foundation
import NIOSSL
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// Which files are taken for a certificate, and when they are read again.
@Suite struct CertificateTests {
    enum Fault: Sendable, CaseIterable {
        case noCertificateFile, noKeyFile, emptyCertificate, certificateIsText, keyIsCertificate, keyHasPassphrase
        case keyOfAnother, certificateIsDirectory

        func make(of certificate: TestCertificate) async throws {
            let files = certificate.files
            switch self {
            case .noCertificateFile: try FileManager.default.removeItem(atPath: files.certificate)
            case .noKeyFile: try FileManager.default.removeItem(atPath: files.key)
            case .emptyCertificate: try certificate.overwrite(\.certificate, with: "")
            case .certificateIsText: try certificate.overwrite(\.certificate, with: "Dear Sir or Madam")
            case .keyIsCertificate:
                try certificate.overwrite(\.key, with: String(contentsOfFile: files.certificate, encoding: .utf8))
            case .keyHasPassphrase: try await certificate.lock()
            case .keyOfAnother:
                let other = try await TestCertificate()
                try certificate.overwrite(\.key, with: String(contentsOfFile: other.files.key, encoding: .utf8))
            case .certificateIsDirectory:
                try FileManager.default.removeItem(atPath: files.certificate)
                try FileManager.default.createDirectory(atPath: files.certificate, withIntermediateDirectories: false)
            }
        }

        func sentence(_ files: CertificateFiles) -> String {
            switch self {
            case .noCertificateFile: "\(files.certificate) cannot be read: No such file or directory."
            case .noKeyFile: "\(files.key) cannot be read: No such file or directory."
            case .certificateIsDirectory: "\(files.certificate) cannot be read: Is a directory."
            case .emptyCertificate, .certificateIsText:
                "\(files.certificate) is not a PEM certificate; it should begin with '-----BEGIN CERTIFICATE-----'."
            case .keyIsCertificate, .keyHasPassphrase:
                "\(files.key) is not a PEM private key, or it has a passphrase; use a key without one."
            case .keyOfAnother:
                "The private key in \(files.key) does not match the certificate in \(files.certificate)."
            }
        }
    }

    @Test(arguments: Fault.allCases)
    func filesThatCannotBeUsedAreRefusedInOneSentence(_ fault: Fault) async throws {
        let certificate = try await TestCertificate()
        try await fault.make(of: certificate)
        let error = #expect(throws: CertificateError.self) { try certificate.server() }
        #expect(error?.description == fault.sentence(certificate.files))
    }

    @Test(arguments: Fault.allCases)
    func aBrokenNewFileLeavesTheOldCertificateInUse(_ fault: Fault) async throws {
        let certificate = try await TestCertificate()
        let lines = LogLines()
        let server = try certificate.server(logger: lines.logger)
        let before = server.context
        try await fault.make(of: certificate)
        server.reload()
        #expect(server.context === before)
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains("the previous one stays in use") == true, "\(lines.all)")
        #expect(lines.all.first?.contains(fault.sentence(certificate.files)) == true, "\(lines.all)")
        try? FileManager.default.removeItem(atPath: certificate.files.certificate)
        try await certificate.make(name: "second")
        server.reload()
        #expect(server.context !== before)
    }

    @Test func anExpiredCertificateIsServedWithAWarning() async throws {
        let certificate = try await TestCertificate()
        try await certificate.expire()
        let lines = LogLines()
        _ = try certificate.server(logger: lines.logger)
        #expect(lines.all.contains { $0.contains("has expired") }, "\(lines.all)")
    }

    /// Certificate and key are two files; between the two writes they do not fit.
    @Test func aChangeIsTakenUpWhenItHasSettled() async throws {
        let certificate = try await TestCertificate()
        let first = certificate.files.stamp()
        #expect(first != nil)
        try await certificate.make(name: "second")
        let second = certificate.files.stamp()
        #expect(second != first)
        try await certificate.make(name: "third")
        let third = certificate.files.stamp()
        var reload = CertificateReload(known: first)
        let sights = [
            (first, false), (second, false), (third, false), (third, true), (third, false),
            // Gone, which is told once, and back.
            (nil, false), (nil, true), (nil, false), (third, false), (third, true),
        ]
        for (index, (stamp, isRead)) in sights.enumerated() {
            let shouldRead = reload.shouldRead(stamp)
            #expect(shouldRead == isRead, "\(index)")
        }
    }
}

import CoreMetrics
import SkyrowModel
import SkyrowRemote

/// Counts the requests of an application to its bucket.
struct S3Metrics: Sendable {
    private let counters: [S3Operation: [S3Failure.Kind?: Counter]]

    init(of application: ApplicationName, factory: any MetricsFactory) {
        let kinds: [S3Failure.Kind?] = [nil, .missing, .full, .refused, .unavailable, .cancelled]
        func counters(_ operation: S3Operation) -> [S3Failure.Kind?: Counter] {
            let pairs = kinds.map { kind in
                let labels = [
                    ("application", application.rawValue), ("operation", operation.rawValue),
                    ("outcome", kind?.rawValue ?? "ok"),
                ]
                return (kind, Counter(label: "skyrow_s3_requests_total", dimensions: labels, factory: factory))
            }
            return Dictionary(uniqueKeysWithValues: pairs)
        }
        self.counters = Dictionary(uniqueKeysWithValues: S3Operation.allCases.map { ($0, counters($0)) })
    }

    func count(_ operation: S3Operation, _ failure: S3Failure.Kind?) {
        counters[operation]?[failure]?.increment()
    }
}

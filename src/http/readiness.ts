/**
 * Why a replica should get no requests, in a few words that name no secret and no host; null: it
 * may.
 */
type ReadinessCheck = () => string | null

interface ReadinessReport {
  readonly isReady: boolean
  /** `ok`, a remark or the reason, for each check. */
  readonly checks: Readonly<Record<string, string>>
}

/**
 * Conditions for a replica to be given requests; each part of the service adds what it knows of.
 */
export class Readiness {
  private readonly checks = new Map<string, ReadinessCheck>()
  private readonly remarks = new Map<string, ReadinessCheck>()

  /**
   * @param check looks at what is known already: it waits for nothing
   * @param remark what stands in the place of `ok` while the replica may get requests
   */
  add(name: string, check: ReadinessCheck, remark: ReadinessCheck = () => null): void {
    this.checks.set(name, check)
    this.remarks.set(name, remark)
  }

  /** Each check, and whether it lets the replica get requests. */
  each(): (readonly [name: string, isReady: boolean])[] {
    return [...this.checks].map(([name, check]) => [name, check() === null] as const)
  }

  report(): ReadinessReport {
    const reasons = [...this.checks].map(([name, check]) => [name, check()] as const)
    return {
      isReady: reasons.every(([, reason]) => reason === null),
      checks: Object.fromEntries(
        reasons.map(([name, reason]) => [name, reason ?? this.remarks.get(name)?.() ?? 'ok']),
      ),
    }
  }
}

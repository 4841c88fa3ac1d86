/**
 * Why a replica should get no requests, in a few words that name no secret and no host; null: it
 * may.
 */
type ReadinessCheck = () => string | null

interface ReadinessReport {
  readonly isReady: boolean
  /** `ok`, or the reason, for each check. */
  readonly checks: Readonly<Record<string, string>>
}

/**
 * What must hold for a replica to be given requests; each part of the service adds what it knows
 * of.
 */
export class Readiness {
  private readonly checks = new Map<string, ReadinessCheck>()

  /** @param check looks at what is known already: it waits for nothing */
  add(name: string, check: ReadinessCheck): void {
    this.checks.set(name, check)
  }

  report(): ReadinessReport {
    const reasons = [...this.checks].map(([name, check]) => [name, check()] as const)
    return {
      isReady: reasons.every(([, reason]) => reason === null),
      checks: Object.fromEntries(reasons.map(([name, reason]) => [name, reason ?? 'ok'])),
    }
  }
}

import { Sealer } from '../../platform/sealer.ts'

const PURPOSE = 'scoreline webhook secrets'

/**
 * Hides the keys of webhooks from whoever reads the database, see `Sealer`. A sealed key opens only
 * for its own webhook. The present secret of the service seals; the former one still opens.
 */
export class SecretSealer {
  private readonly present: Sealer
  private readonly sealers: ReadonlyMap<string, Sealer>

  constructor(secret: string | Buffer, formerSecret: string | null) {
    this.present = new Sealer(secret, PURPOSE)
    const former = formerSecret === null ? [] : [new Sealer(formerSecret, PURPOSE)]
    this.sealers = new Map([this.present, ...former].map((sealer) => [sealer.name, sealer]))
  }

  /** Name of the key that seals. */
  get sealedWith(): string {
    return this.present.name
  }

  seal(webhookId: string, secret: Uint8Array): Buffer {
    return this.present.seal(webhookId, secret)
  }

  /**
   * @param sealedWith name of the key that sealed it
   * @throws Error if the secret of the service is another one, or the bytes were altered
   */
  open(webhookId: string, sealed: Uint8Array, sealedWith: string): Buffer {
    const sealer = this.sealers.get(sealedWith)
    if (sealer !== undefined) return sealer.open(webhookId, sealed)
    throw new Error(
      'the secret of the webhook was encrypted with another JWT_SECRET: rotate the secret',
    )
  }
}

import { Sealer } from '../../../platform/sealer.ts'

const PURPOSE = 'scoreline single sign-on'

/** Seals texts under the secret that signs access tokens, see `Sealer`. */
export class TextSealer {
  private readonly present: Sealer
  private readonly former: Sealer | null

  /** @param former the secret before the last rotation, which still opens; null: there is none */
  constructor(secret: string | Buffer, former: string | null) {
    this.present = new Sealer(secret, PURPOSE)
    this.former = former === null ? null : new Sealer(former, PURPOSE)
  }

  /** @returns base64url, about 60 characters longer than the text's own */
  seal(text: string, use: string): string {
    return this.present.seal(use, Buffer.from(text)).toString('base64url')
  }

  /** @returns null if the text was altered, or sealed for another use or with another secret */
  open(sealed: string, use: string): string | null {
    const bytes = Buffer.from(sealed, 'base64url')
    for (const sealer of [this.present, this.former]) {
      try {
        if (sealer !== null) return sealer.open(use, bytes).toString('utf8')
      } catch {
        // Another secret may have sealed it.
      }
    }
    return null
  }
}

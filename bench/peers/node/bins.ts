/** A card as far as the peers need it. */
export interface PeerSpec {
  readonly base_points: number
  readonly features: readonly PeerFeature[]
}

export interface PeerFeature {
  readonly name: string
  readonly type: 'numeric' | 'categorical'
  readonly bins: readonly {
    readonly range?: string
    readonly value?: string
    readonly points: number
  }[]
}

type PeerBin =
  | { readonly texts: readonly string[] }
  | {
      readonly low: number
      readonly high: number
      readonly lowClosed: boolean
      readonly highClosed: boolean
    }

/** @throws Error for a bin that the sample card has not: one for missing values */
export function readBin({ range, value }: PeerFeature['bins'][number]): PeerBin {
  if (value !== undefined && value !== 'Missing') return { texts: value.split('%,%') }
  const parts = /^([[(])(.*), (.*)([\])])$/.exec(range ?? '')
  if (parts === null) throw new Error(`the peers are not set up for ${range ?? value}`)
  const [, open, low, high, close] = parts
  return {
    low: Number(low),
    high: Number(high),
    lowClosed: open === '[',
    highClosed: close === ']',
  }
}

interface DemoBin {
  readonly points: number
  readonly range?: string
  /** Applicants of the sample, on a card that explains its scores. */
  readonly baseline_count?: number
}

interface DemoFeature {
  readonly name: string
  readonly bins: readonly DemoBin[]
}

/** The parts of the sample's specification that its versions change. */
export interface DemoSpec {
  readonly name: string
  readonly version: string
  readonly base_points: number
  readonly features: readonly DemoFeature[]
}

/** A change of one bin; the place counts from 0. */
type BinChange = (bin: DemoBin, place: number) => DemoBin

interface CardVersion {
  readonly name: string
  readonly version: string
  readonly changes: Readonly<Record<string, BinChange>>
}

/** Versions of one card, oldest first. */
export interface DemoCards {
  /** The card that answered before the card of the sample was fitted. */
  readonly earlier: DemoSpec
  /** The card of the sample with its points as they are. */
  readonly present: DemoSpec
  /** The card that the risk team has fitted since the applicants moved. */
  readonly next: DemoSpec
}

/** Makes the versions of the history from the card of the sample. They are made up. */
export function demoCards(spec: DemoSpec, name: string): DemoCards {
  return {
    earlier: makeVersion(spec, {
      name,
      version: '0.9.0',
      changes: {
        purpose: scaled(0.4),
        credit_history: scaled(0.6),
        status_of_existing_checking_account: scaled(0.8),
        duration_in_month: withRanges({
          '[34, 44)': '[34, 48)',
          '[44, Infinity)': '[48, Infinity)',
        }),
      },
    }),
    present: { ...spec, name },
    next: makeVersion(spec, {
      name,
      version: '1.1.0',
      changes: {
        status_of_existing_checking_account: scaled(1.3),
        age_in_years: scaled(0.7),
        savings_account_and_bonds: scaled(0.8),
        credit_amount: withRanges({
          '[4000, 9200)': '[4000, 8000)',
          '[9200, Infinity)': '[8000, Infinity)',
        }),
      },
    }),
  }
}

/** Everything that a version does not change is that of the sample's card. */
function makeVersion(spec: DemoSpec, { name, version, changes }: CardVersion): DemoSpec {
  const features = spec.features.map((feature) => {
    const change = changes[feature.name]
    return change === undefined ? feature : { ...feature, bins: feature.bins.map(change) }
  })
  return { ...spec, name, version, features }
}

function scaled(factor: number): BinChange {
  return (bin) => ({ ...bin, points: Math.round(factor * bin.points) })
}

function withRanges(ranges: Readonly<Record<string, string>>): BinChange {
  return (bin) => {
    const range = bin.range === undefined ? undefined : ranges[bin.range]
    return range === undefined ? bin : { ...bin, range }
  }
}

/** The card with the sample counted by its own bins: a version can have other ones. */
export function recounted(
  spec: DemoSpec,
  counts: Readonly<Record<string, { readonly bins: readonly number[] }>>,
): DemoSpec {
  const features = spec.features.map((feature) => ({
    ...feature,
    bins: feature.bins.map((bin, place) =>
      bin.baseline_count === undefined
        ? bin
        : { ...bin, baseline_count: counts[feature.name]?.bins[place] ?? 0 },
    ),
  }))
  return { ...spec, features }
}

import type {
  IMPORT_TOOLS,
  ODDS_DIRECTIONS,
  PROBABILITIES,
  UNSEEN_POLICIES,
} from '../../../../schemas/import.ts'
import type { Range } from './ranges.ts'

export type Tool = (typeof IMPORT_TOOLS)[number]

/** Number of points a category in no bin adds, if the file does not specify them. */
export type Unseen = (typeof UNSEEN_POLICIES)[number]

type OddsDirection = (typeof ODDS_DIRECTIONS)[number]

/** Facts that the caller knows and the file does not contain. */
export interface ImportOptions {
  readonly tool?: Tool
  readonly name: string
  readonly version: string
  readonly target: string
  readonly scaling: {
    /** Points that double the odds, as configured in the tool. */
    readonly pdo?: number
    readonly baseScore?: number
    /** A number, or a fraction such as `1/19`, which is used without rounding. */
    readonly odds?: string
    readonly oddsDirection?: OddsDirection
    /** Factor by which `pdo` points multiply the odds; 2 when left out. */
    readonly rate?: number
  }
  /** Source of the probabilities of default; `scaling` when left out. */
  readonly probabilities?: (typeof PROBABILITIES)[number]
  /** Risk grades in the form of a specification; any JSON. */
  readonly riskGrades?: unknown
  /** Base points, when the file has no row for them. */
  readonly basePoints?: number
  /** `intercept_` of optbinning, which its table does not contain. */
  readonly intercept?: number
  readonly unseen?: Unseen
  /** Features whose bins are texts, though they look like intervals. */
  readonly categorical?: readonly string[]
  /** New names of features: smbinning gives a feature the name of its binned column. */
  readonly rename?: Readonly<Record<string, string>>
  /** Categories with a comma in their name, when the file joins categories with commas. */
  readonly commaCategories?: readonly string[]
  /** Says that the card has no special values, when the file does not specify them. */
  readonly hasNoSpecials?: boolean
  /** Exact splits of optbinning, by feature; any JSON. */
  readonly splits?: unknown
}

/** One part of what a bin contains. */
export type Member =
  | { readonly kind: 'range'; readonly range: Range }
  /** A single number, which has priority over ranges. */
  | { readonly kind: 'value'; readonly value: number }
  | { readonly kind: 'category'; readonly text: string }
  | { readonly kind: 'missing' }
  /** Everything that no other bin contains. */
  | { readonly kind: 'else' }

/** One row of a card. */
export interface SourceBin {
  /** Position in the file. */
  readonly path: string
  /** The text of the bin in the file. */
  readonly label: string
  readonly points: number
  readonly woe?: number | undefined
  /** Applicants of the development sample in this row. */
  readonly count?: number | undefined
  /** The bad ones among them. */
  readonly bads?: number | undefined
  /** Where it differs from that of the feature. */
  readonly reasonCode?: string | undefined
  readonly members: readonly Member[]
}

export interface SourceFeature {
  readonly name: string
  readonly type: 'numeric' | 'categorical'
  readonly bins: readonly SourceBin[]
  readonly reasonCode?: string
  /** Points that the applicant's are compared with; only in a card with `reasons`. */
  readonly reasonBaseline?: number
}

/** The way a card that brings its baselines ranks reason codes. */
export interface CardReasons {
  /** True if points above a baseline are adverse, not those below it. */
  readonly isAbove: boolean
  readonly basis: 'max' | 'mean' | 'neutral' | 'other'
}

/** A card as read from its file, before it becomes a specification. */
export interface SourceCard {
  readonly tool: Exclude<Tool, 'scoreline'>
  readonly basePoints: number
  readonly features: readonly SourceFeature[]
  readonly reasons?: CardReasons | null
  readonly rules: ToolRules
}

/** The way a tool applies its own card. */
export interface ToolRules {
  /** A sentence: what the tool does with a category that no bin names. */
  readonly unseen: string
  /** A sentence: what the tool does with a missing value that has no bin. */
  readonly missing: string
  /** True if `else` includes missing values. */
  readonly elseHoldsMissing?: boolean
  /** True if ranges must cover all numbers without a gap. */
  readonly tiles?: boolean
  /**
   * True if categories are texts to the letter, so that 3.0 is not 3: they may be Python's numbers
   * else.
   */
  readonly hasTextCategories?: boolean
}

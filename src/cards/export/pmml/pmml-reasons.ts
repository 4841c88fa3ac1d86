import {
  type CompiledModel,
  compileReasons,
  type ReasonFinder,
  type ScorecardSpec,
  type SpecIssue,
} from '../../../engine/index.ts'
import { makeReasonFinder, type ReasonBaseline } from '../../../scoring/reason-baseline.ts'
import { isXmlText } from './xml.ts'

type Attributes = Readonly<Record<string, string | number>>

/** The attributes of one Characteristic and of what it holds. */
export interface CharacteristicReasons {
  readonly attributes: Attributes
  /** For the Attribute of a slot: its code, where it is not that of the Characteristic. */
  ofSlot(slot: number): Attributes
}

/** `baselineMethod` only informs a consumer. */
const METHODS: Readonly<Record<string, string>> = {
  max: 'max',
  mean: 'mean',
  mean_all: 'mean',
  mean_at_cutoff: 'mean',
  neutral: 'neutral',
}

/** Reason codes and baselines of a card in the attributes of PMML. */
export class PmmlReasons {
  /** Reasons that an answer of the service has. */
  readonly max: number
  private readonly model: CompiledModel
  private readonly finder: ReasonFinder

  private constructor(model: CompiledModel, finder: ReasonFinder) {
    this.model = model
    this.finder = finder
    this.max = finder.rules.max
  }

  /** @returns null for a card without reasons, or without what they are measured against */
  static of(
    spec: ScorecardSpec,
    model: CompiledModel,
    baseline: ReasonBaseline | null,
  ): PmmlReasons | null {
    const rules = compileReasons(spec, model)
    const finder = rules === null ? null : makeReasonFinder(model, rules, baseline)
    return finder === null ? null : new PmmlReasons(model, finder)
  }

  /** Codes that XML can't contain. */
  faults(): SpecIssue[] {
    const message = "have a control character, which XML can't contain"
    const isStorable = this.finder.rules.codes.every(isXmlText)
    return isStorable ? [] : [{ path: 'reason_codes', message }]
  }

  attributes(): Attributes {
    const { method, settings, sign } = this.finder.rules
    const basis = method === 'fixed' ? (settings.baseline_basis ?? 'other') : method
    return {
      useReasonCodes: 'true',
      reasonCodeAlgorithm: sign === 1 ? 'pointsBelow' : 'pointsAbove',
      baselineMethod: METHODS[basis] ?? 'other',
    }
  }

  of(feature: number): CharacteristicReasons {
    const { rules, means } = this.finder
    const { reason_code: code = this.model.featureNames[feature] ?? '' } =
      rules.spec.features[feature] ?? {}
    const mean = means.means[feature] ?? Number.NaN
    return {
      attributes: {
        reasonCode: code,
        baselineScore: Number.isNaN(mean) ? this.leastAdverse(feature) : mean,
      },
      ofSlot: (slot) => {
        const own = rules.codes[rules.codeOfSlot[slot] ?? -1] ?? code
        return own === code ? {} : { reasonCode: own }
      },
    }
  }

  /** A baseline against which a feature that can't be a reason never takes points. */
  private leastAdverse(feature: number): number {
    const { points, slotStart } = this.model
    const own = points.slice(slotStart[feature], slotStart[feature + 1])
    return this.finder.rules.sign === 1 ? Math.min(...own) : Math.max(...own)
  }
}

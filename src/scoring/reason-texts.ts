import type { Static } from '@sinclair/typebox'
import type { Reason as ReasonSchema } from '../../schemas/reasons.ts'
import {
  type CompiledModel,
  computeScoreRange,
  DEFAULT_LANGUAGE,
  type FoundReasons,
  formatBinText,
  type Reason,
  type ReasonFinder,
  type ScorecardSpec,
  textIn,
} from '../engine/index.ts'
import type { Utf8Writer } from '../platform/bytes/utf8-writer.ts'
import { HeldLanguages, type LanguageTexts } from './language-texts.ts'
import { findReasonMethod, makeReasonFinder, type ReasonBaseline } from './reason-baseline.ts'
import { flagsText, ReasonFragments } from './reason-fragments.ts'

/** A request's wishes for reasons. */
export interface ReasonsWanted {
  /** Reasons at most; null: as many as the card says. */
  readonly max: number | null
  /** A language tag. */
  readonly lang: string
}

/**
 * Reads what a request says about reasons.
 *
 * @param include a number of reasons; true: as many as the card says; false or absent: none
 * @param lang a language tag; English by default
 */
export function reasonsWanted(
  include: boolean | number | undefined,
  lang: string | undefined,
): ReasonsWanted | null {
  if (include === undefined || include === false) return null
  return { max: include === true ? null : include, lang: lang ?? DEFAULT_LANGUAGE }
}

/** The texts of a larger card are not kept in both forms: they would fill the memory. */
export const PREPARED_SLOTS_MAX = 4_096
const CHAR_BYTES = 2

/**
 * Writes the reasons of a model's scores as JSON, from prepared pieces: everyone in a bin has the
 * same texts, and most reasons come from one bin.
 */
export class ReasonTexts {
  readonly finder: ReasonFinder
  private readonly spec: ScorecardSpec
  private readonly model: CompiledModel
  private readonly languages: HeldLanguages
  /** Names of features and codes as JSON. */
  private readonly names: readonly string[]
  private readonly codes: readonly string[]
  /** Method and range of scores, with a comma before them. */
  readonly frameText: string

  private constructor(
    spec: ScorecardSpec,
    model: CompiledModel,
    finder: ReasonFinder,
    baseline: ReasonBaseline | null,
  ) {
    this.spec = spec
    this.model = model
    this.finder = finder
    this.languages = new HeldLanguages(finder.rules.spec, model.sizeBytes)
    this.names = model.featureNames.map((name) => JSON.stringify(name))
    this.codes = finder.rules.codes.map((code) => JSON.stringify(code))
    const method = JSON.stringify(findReasonMethod(finder, baseline))
    const range = JSON.stringify(computeScoreRange(model))
    this.frameText = `,"reason_method":${method},"score_range":${range}`
  }

  /** @returns null if the model has no rules, or needs a baseline and has none */
  static of(
    spec: ScorecardSpec,
    model: CompiledModel,
    rules: ReasonFinder['rules'] | null,
    baseline: ReasonBaseline | null,
  ): ReasonTexts | null {
    const finder = rules === null ? null : makeReasonFinder(model, rules, baseline)
    return finder === null ? null : new ReasonTexts(spec, model, finder, baseline)
  }

  /** Bytes that its texts may take. */
  get heldBytesMax(): number {
    return this.languages.heldBytesMax
  }

  /** The reasons of an applicant, and all that `find` says of them. */
  answers(
    slots: ArrayLike<number>,
    lang: string,
  ): { readonly found: FoundReasons; readonly reasons: readonly ReasonAnswer[] } {
    const found = this.finder.find(slots, this.finder.rules.max)
    const items = this.itemsText(found.reasons.length, slots, this.languages.of(lang))
    return { found, reasons: JSON.parse(`[${items}]`) }
  }

  /** Reasons and key factors of an applicant, each property with a comma before it. */
  reasons(slots: ArrayLike<number>, { max, lang }: ReasonsWanted): string {
    const { finder } = this
    const count = finder.rank(slots)
    const shown = Math.min(count, max ?? finder.rules.max)
    const items = this.itemsText(shown, slots, this.languages.of(lang))
    return `,"reasons":[${items}${this.endText(shown, count, slots)}`
  }

  /** Writes what `reasons` returns: in a batch, each string costs more than its bytes. */
  writeReasons(into: Utf8Writer, slots: ArrayLike<number>, wanted: ReasonsWanted): void {
    const texts = this.languages.of(wanted.lang)
    const prepared = this.prepareFragments(texts)
    if (prepared === null) {
      into.writeString(this.reasons(slots, wanted))
      return
    }
    prepared.write(into, slots, wanted.max ?? this.finder.rules.max)
  }

  /** The reasons of the applicant that was ranked. */
  private itemsText(shown: number, slots: ArrayLike<number>, texts: LanguageTexts): string {
    let items = ''
    for (let rank = 0; rank < shown; rank++) {
      items += `${rank === 0 ? '{"rank":' : ',{"rank":'}${rank + 1},${this.reasonText(rank, slots, texts)}`
    }
    return items
  }

  private reasonText(rank: number, slots: ArrayLike<number>, texts: LanguageTexts): string {
    const slot = this.finder.slotAt(rank, slots)
    if (slot < 0) return this.composedText(this.finder.reasonAt(rank, slots), slots, texts)
    const known = texts.reasons[slot]
    if (known !== undefined) return known
    const text = this.composedText(this.finder.reasonAt(rank, slots), slots, texts)
    const { left } = texts
    if (CHAR_BYTES * text.length <= left.bytes) {
      left.bytes -= CHAR_BYTES * text.length
      texts.reasons[slot] = text
    }
    return text
  }

  /** Null for a card with too many slots. */
  private prepareFragments(texts: LanguageTexts): ReasonFragments | null {
    if (texts.prepared !== null) return texts.prepared
    const { points } = this.model
    if (points.length > PREPARED_SLOTS_MAX) return null
    texts.prepared = new ReasonFragments(this.finder, {
      counts: {
        codes: this.codes.length,
        features: this.names.length,
        slots: points.length,
      },
      head: (code) => `${this.codeText(code, texts)},"distance":`,
      code: (code) => this.codes[code] ?? '',
      name: (feature) => this.names[feature] ?? '',
      label: (slot) => this.binText(this.findFeature(slot), slot, texts),
      reason: (slot) => this.slotText(this.findFeature(slot), slot, texts),
      left: texts.left,
    })
    return texts.prepared
  }

  private findFeature(slot: number): number {
    const { slotStart } = this.model
    let feature = 0
    while ((slotStart[feature + 1] ?? Number.POSITIVE_INFINITY) <= slot) feature++
    return feature
  }

  private slotText(feature: number, slot: number, texts: LanguageTexts): string {
    const distance = this.finder.readDistance(slot)
    if (!(distance > 0)) return ''
    const code = this.finder.rules.codeOfSlot[slot] ?? 0
    const slots: number[] = []
    slots[feature] = slot
    return this.composedText({ code, distance, features: [feature] }, slots, texts)
  }

  private composedText(
    { code, distance, features }: Reason,
    slots: ArrayLike<number>,
    texts: LanguageTexts,
  ): string {
    let names = ''
    let labels = ''
    for (const [index, feature] of features.entries()) {
      const comma = index === 0 ? '' : ','
      names += `${comma}${this.names[feature]}`
      labels += `${comma}${this.binText(feature, slots[feature] ?? 0, texts)}`
    }
    const codeText = this.codeText(code, texts)
    return `${codeText},"distance":${distance},"features":[${names}],"bin_labels":[${labels}]}`
  }

  /**
   * Returns what stands after the reasons of the applicant that was ranked: flags and key factors.
   */
  private endText(shown: number, count: number, slots: ArrayLike<number>): string {
    const { finder } = this
    const factors = finder.keyFactors(count, slots)
    let text = `]${flagsText(finder.isTruncatedAt(shown, count), count === 0)},"key_factors":[`
    for (let at = 0; at < factors.length; at++) {
      text += at === 0 ? this.codes[factors[at] ?? 0] : `,${this.codes[factors[at] ?? 0]}`
    }
    return `${text}]`
  }

  private codeText(code: number, { lang, codes }: LanguageTexts): string {
    const known = codes[code]
    if (known !== undefined) return known
    const { rules } = this.finder
    const name = rules.codes[code] ?? ''
    const { reason_codes: ofCodes = {} } = rules.spec
    const own = Object.hasOwn(ofCodes, name) ? textIn(ofCodes[name], lang) : null
    const text = `"code":${this.codes[code]},"text":${JSON.stringify(own ?? name)}`
    codes[code] = text
    return text
  }

  private binText(feature: number, slot: number, { lang, bins }: LanguageTexts): string {
    const known = bins[slot]
    if (known !== undefined) return known
    const bin = this.model.binOfSlot[slot] ?? -1
    const label = this.finder.rules.spec.features[feature]?.bins[bin]?.label
    const own = bin < 0 ? null : (textIn(label, lang) ?? formatBinText(this.spec, feature, bin))
    const text = JSON.stringify(own)
    bins[slot] = text
    return text
  }
}

export type ReasonAnswer = Static<typeof ReasonSchema>

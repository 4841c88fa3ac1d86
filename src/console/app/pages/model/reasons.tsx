import type { Schemas } from '../../api/types.ts'
import { featureNames } from '../../ui/card.ts'
import { NONE, number } from '../../ui/figures.ts'
import { inWords, plainName } from '../../ui/names.ts'
import { Badge, Panel } from '../../ui/page.tsx'
import {
  hasReasons,
  isObject,
  listLanguages,
  methodName,
  readTexts,
} from '../../ui/reason-words.ts'
import { Notice } from '../../ui/states.tsx'
import { PlainTable } from '../../ui/table.tsx'

type Spec = Schemas['ScorecardSpec']

interface UsedCode {
  readonly code: string
  /** Technical names of the features that use it. */
  readonly features: readonly string[]
  readonly texts: Readonly<Record<string, string>>
}

/** Longer lists are cut: a card can have 10,000 codes. */
const CODES_MAX = 200
const MISSING_SHOWN_MAX = 10

/** Shows how a card explains its scores: codes with texts, and baselines of features. */
export function ReasonCodes({ spec }: { spec: Spec }) {
  const rules = spec['reasons']
  if (!hasReasons(spec) || !isObject(rules)) {
    return (
      <Panel title="Reasons">
        <p className="muted">The card gives no reasons for its scores.</p>
      </Panel>
    )
  }
  const { method, max = 4, aggregate = 'positive' } = rules
  const codes = usedCodes(spec)
  const languages = listLanguages(spec)
  const nameFeature = featureNames(spec)
  return (
    <Panel title="Reasons">
      <p className="muted">
        At most {String(max)} for a score, compared with: {methodName(String(method))}. Features
        with one code: {String(aggregate)}.
      </p>
      <MissingTexts codes={codes} languages={languages} />
      <PlainTable
        caption="Reason codes"
        head={['Code', 'Features', ...languages.map((tag) => `Text (${tag})`)]}
        rows={codes.slice(0, CODES_MAX).map(({ code, features, texts }) => [
          <code key="code">{code}</code>,
          features.length === 0 ? 'none' : inWords(features.map(nameFeature)),
          ...languages.map((tag) =>
            texts[tag] === undefined ? (
              <Badge key={tag}>missing</Badge>
            ) : (
              <bdi key={tag} lang={tag}>
                {texts[tag]}
              </bdi>
            ),
          ),
        ])}
      />
      {codes.length > CODES_MAX && (
        <p className="muted">
          The first {CODES_MAX} of {codes.length} codes.
        </p>
      )}
      <h3>Features as reasons</h3>
      <PlainTable
        caption="Features as reasons"
        head={['Feature', 'Baseline', 'Source', 'A reason', 'Can be changed']}
        figures={[1]}
        rows={spec.features.map((feature) => [
          nameFeature(feature.name),
          typeof feature['reason_baseline'] === 'number'
            ? number(feature['reason_baseline'])
            : NONE,
          typeof feature['source'] === 'string' ? plainName(feature['source']) : NONE,
          feature['reason_eligible'] === false ? 'never' : 'can be',
          feature['actionable'] === false ? 'no' : 'yes',
        ])}
      />
      <p className="muted">
        Without a baseline here, a feature is compared with the counts of its bins, or with scored
        applicants: see the reasons of a deployment.
      </p>
    </Panel>
  )
}

function MissingTexts(props: { codes: readonly UsedCode[]; languages: readonly string[] }) {
  const { codes, languages } = props
  const missing = codes.flatMap(({ code, texts }) =>
    languages.filter((tag) => texts[tag] === undefined).map((tag) => `${code} (${tag})`),
  )
  if (missing.length === 0) return null
  return (
    <Notice kind="watch">
      {missing.length === 1 ? 'A text is' : `${missing.length} texts are`} missing:{' '}
      {missing.slice(0, MISSING_SHOWN_MAX).join(', ')}
      {missing.length > MISSING_SHOWN_MAX && ' and more'}. An answer then has the text of another
      language, or the code.
    </Notice>
  )
}

function usedCodes(spec: Spec): UsedCode[] {
  const known = isObject(spec['reason_codes']) ? spec['reason_codes'] : {}
  const users = new Map<string, Set<string>>(Object.keys(known).map((code) => [code, new Set()]))
  for (const feature of spec.features) {
    const { name, reason_code: ofFeature, bins } = feature
    const own = typeof ofFeature === 'string' ? ofFeature : name
    const codes = bins.map(({ reason_code: code }) => (typeof code === 'string' ? code : own))
    for (const code of new Set([own, ...codes])) {
      const names = users.get(code) ?? new Set<string>()
      names.add(name)
      users.set(code, names)
    }
  }
  return [...users].map(([code, names]) => ({
    code,
    features: [...names],
    texts: Object.hasOwn(known, code) ? readTexts(known[code]) : {},
  }))
}

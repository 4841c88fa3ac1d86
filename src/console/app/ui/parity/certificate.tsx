import { Notice } from '../states.tsx'
import { PlainTable } from '../table.tsx'
import { type Certificate, certificateRows, gapText, verdictText } from './text.ts'

/** The certificate in words, what was not checked first, and all of its figures. */
export function CertificateView({ certificate }: { certificate: Certificate }) {
  const gap = gapText(certificate)
  return (
    <>
      <Notice kind={!certificate.agrees ? 'watch' : gap === null ? 'good' : 'info'}>
        <p>{verdictText(certificate)}</p>
        {gap && <p>{gap}</p>}
      </Notice>
      <details>
        <summary>The certificate</summary>
        <PlainTable
          caption="Parity certificate"
          head={['Figure', 'Value']}
          rows={certificateRows(certificate)}
        />
      </details>
    </>
  )
}

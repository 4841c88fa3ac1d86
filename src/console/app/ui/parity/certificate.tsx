import { Notice } from '../states.tsx'
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
        <section className="scroll" aria-label="Parity certificate">
          <table>
            <tbody>
              {certificateRows(certificate).map(([name, value]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td className="wrap">{value}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </>
  )
}

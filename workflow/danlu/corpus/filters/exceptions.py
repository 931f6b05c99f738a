"""What spaCy splits in English otherwise than its patterns say, or not at all.

After spacy.lang.en.tokenizer_exceptions and spacy.lang.tokenizer_exceptions of spaCy 3.8 (MIT). Left
out are the emoticons that hold other than ASCII characters.
"""

from __future__ import annotations

# What follows a word in a contraction; a dash parts where there are two.
_ENDINGS = {
    "i": "'m 'm-a 'll 'll-'ve 'd 'd-'ve 've",
    "you we they": "'ll 'll-'ve 'd 'd-'ve 've 're",
    "he she it": "'ll 'll-'ve 'd 'd-'ve 's",
    "that": "'s 'll 'll-'ve 'd 'd-'ve",
    "who what when where why how there this": "'s 'll 'll-'ve 're 've 'd 'd-'ve",
    "these those": "'ll 'll-'ve 're 've 'd 'd-'ve",
    "ca do does did had may need ought sha wo": "n't n't-'ve",
    "could might must should would": "n't n't-'ve 've",
    "ai are is was were have has dare": "n't",
}
# A contraction without its apostrophe is parted as well, as dont, unless it is another word.
_OTHER_WORDS = ("ill", "its", "hell", "shell", "shed", "were", "well")
_PARTED = (
    "can-not Can-not gon-na Gon-na got-ta Got-ta let-'s Let-'s c'm-on C'm-on y'-all y-all how-'d-'y "
    "How-'d-'y not-'ve not-ve Not-'ve Not-ve"
)
_WHOLE = (
    "' '' 's 'S 'd 're 'em em 'll ll 'nuff nuff 'Cause 'cause 'cos 'Cos 'coz 'Coz 'cuz 'Cuz 'bout ma'am "
    "Ma'am o'clock O'clock and/or w/o C++ "
    "doin doin' Doin Doin' goin goin' Goin Goin' nothin nothin' Nothin Nothin' nuthin nuthin' Nuthin "
    "Nuthin' ol ol' Ol Ol' somethin somethin' Somethin Somethin' lovin lovin' Lovin Lovin' havin "
    "havin' Havin Havin' "
    "Ak. Ala. Apr. Ariz. Ark. Aug. Calif. Colo. Conn. Dec. Del. Feb. Fla. Ga. Ia. Id. Ill. Ind. Jan. Jul. "
    "Jun. Kan. Kans. Ky. La. Mar. Mass. Mich. Minn. Miss. Mt. N.C. N.D. N.H. N.J. N.M. N.Y. Neb. Nebr. Nev. "
    "Nov. Oct. Okla. Ore. Pa. S.C. Sep. Sept. Tenn. Va. Wash. Wis. a.m. Adm. Bros. co. Co. Corp. D.C. Dr. "
    "e.g. E.g. E.G. Gen. Gov. i.e. I.e. I.E. Inc. Jr. Ltd. Md. Messrs. Mo. Mont. Mr. Mrs. Ms. p.m. Ph.D. "
    "Prof. Rep. Rev. Sen. St. vs. v.s. "
    "a. b. c. d. e. f. g. h. i. j. k. l. m. n. o. p. q. r. s. t. u. v. w. x. y. z. ä. ö. ü."
)


_EMOTICONS = r"""
:) :-) :)) :-)) :))) :-))) (: (-: =) (= :] :-] [: [-: [= =] :o) (o: :} :-} 8) 8-) (-8 ;) ;-) (; (-;
:( :-( :(( :-(( :((( :-((( ): )-: =( >:( :') :'-) :'( :'-( :/ :-/ =/ =| :| :-| ]= =[ :1 :P :-P :p :-p
:O :-O :o :-o :0 :-0 :() >:o :* :-* :3 :-3 =3 :> :-> :X :-X :x :-x :D :-D ;D ;-D =D xD XD xDD XDD 8D 8-D
^_^ ^__^ ^___^ >.< >.> <.< ._. ;_; -_- -__- v.v V.V v_v V_V o_o o_O O_o O_O 0_o o_0 0_0 o.O O.o O.O
o.o 0.0 o.0 0.o @_@ <3 <33 <333 </3 (^_^) (-_-) (._.) (>_<) (*_*) ><(((*>
"""


def exceptions() -> dict[str, tuple[str, ...]]:
    """The words of each text that is an exception."""
    parted = [tuple(each.split("-")) for each in _PARTED.split()]
    for words, endings in _ENDINGS.items():
        for word in words.split():
            for first in (word, word.title()):
                for ending in endings.split():
                    parted.append((first, *ending.split("-")))
                    parted.append((first, *ending.replace("'", "").split("-")))
    for hour in range(1, 13):
        parted += [(str(hour), period) for period in ("a.m.", "am", "p.m.", "pm")]
    made = {"".join(parts): parts for parts in parted}
    made |= {whole: (whole,) for whole in (_WHOLE + _EMOTICONS).split()}
    for word in _OTHER_WORDS:
        for written in (word, word.title()):
            made.pop(written, None)
    curly = {t.replace("'", "’"): tuple(p.replace("'", "’") for p in made[t]) for t in made}
    return curly | made

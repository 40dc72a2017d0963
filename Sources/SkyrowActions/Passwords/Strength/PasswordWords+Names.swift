extension PasswordWords {
    /// The most frequent given and family names of English-speaking countries, most frequent first.
    static let names = """
        mary james smith patricia john johnson linda robert williams barbara michael jones elizabeth william brown \
        jennifer david davis maria richard miller susan charles wilson margaret joseph moore dorothy thomas taylor \
        lisa christopher anderson nancy daniel jackson karen paul white betty mark harris helen donald martin sandra \
        george thompson donna kenneth garcia carol steven martinez ruth edward robinson sharon brian clark michelle \
        ronald rodriguez laura anthony lewis sarah kevin lee kimberly jason walker deborah matthew hall jessica gary \
        allen shirley timothy young cynthia jose hernandez angela larry king melissa jeffrey wright brenda frank \
        lopez amy scott hill anna eric green rebecca stephen adams kathleen andrew baker pamela raymond gonzalez \
        martha gregory nelson debra joshua carter amanda jerry mitchell stephanie dennis perez carolyn walter \
        roberts christine patrick turner marie peter phillips janet harold campbell catherine douglas parker frances \
        henry evans ann carl edwards joyce arthur collins diane ryan stewart alice roger sanchez julie joe morris \
        heather juan rogers teresa jack reed doris albert cook gloria jonathan morgan evelyn justin bell jean terry \
        murphy cheryl gerald bailey mildred keith rivera katherine samuel cooper joan willie richardson ashley ralph \
        cox judith lawrence howard rose nicholas ward janice roy torres kelly benjamin peterson nicole bruce gray \
        judy brandon ramirez christina adam watson kathy harry brooks theresa fred sanders beverly wayne price \
        denise billy bennett tammy steve wood irene louis barnes jane jeremy ross lori aaron henderson rachel randy \
        coleman marilyn eugene jenkins andrea carlos perry kathryn russell powell louise bobby long sara victor \
        patterson anne ernest hughes jacqueline phillip flores wanda todd washington bonnie jesse butler julia craig \
        simmons ruby alan foster lois shawn gonzales tina clarence bryant phyllis sean alexander norma philip \
        griffin paula chris diaz diana johnny hayes annie earl myers lillian jimmy ford emily antonio hamilton robin \
        danny graham peggy bryan sullivan crystal tony wallace gladys luis woods rita mike cole dawn stanley west \
        connie leonard owens florence nathan reynolds tracy dale fisher edna manuel ellis tiffany rodney harrison \
        carmen curtis gibson rosa norman mcdonald cindy marvin cruz grace vincent marshall wendy glenn ortiz \
        victoria jeffery gomez edith travis murray kim jeff freeman sherry chad wells sylvia jacob webb josephine \
        melvin simpson thelma alfred stevens shannon kyle tucker sheila francis porter ethel bradley hicks ellen \
        jesus crawford elaine herbert boyd marjorie frederick mason carrie ray morales charlotte joel kennedy monica \
        edwin warren esther don dixon pauline eddie ramos emma ricky reyes juanita troy burns anita randall gordon \
        rhonda barry shaw hazel bernard holmes amber mario rice eva leroy robertson debbie francisco hunt april \
        marcus black leslie micheal daniels clara theodore palmer lucille clifford mills jamie miguel nichols joanne \
        oscar grant eleanor jay knight valerie jim ferguson danielle tom stone megan calvin hawkins alicia alex dunn \
        suzanne jon perkins michele ronnie hudson gail bill spencer bertha lloyd gardner darlene tommy stephens \
        veronica leon payne jill derek pierce erin darrell berry geraldine jerome matthews lauren floyd arnold cathy \
        leo wagner joann alvin willis lorraine tim watkins lynn wesley olson sally dean carroll regina greg duncan \
        erica jorge snyder beatrice dustin hart dolores pedro cunningham bernice derrick lane audrey dan andrews \
        yvonne zachary ruiz annette corey harper marion herman fox dana maurice riley stacy vernon armstrong ana \
        roberto carpenter renee clyde weaver ida glen greene vivian hector elliott roberta shane chavez holly \
        ricardo sims brittany sam peters melanie rick kelley loretta lester franklin yolanda brent lawson jeanette \
        ramon fields laurie tyler gutierrez katie gilbert schmidt kristen gene carr vanessa marc vasquez alma \
        reginald castillo sue ruben wheeler elsie brett chapman beth nathaniel montgomery jeanne rafael richards \
        vicki edgar williamson carla milton johnston tara raul banks rosemary ben meyer eileen cecil bishop terri \
        duane mccoy gertrude andre howell lucy elmer alvarez tonya brad morrison ella gabriel hansen stacey ron \
        fernandez wilma roland garza gina jared harvey kristin adrian burton jessie karl nguyen natalie cory jacobs \
        agnes claude reid vera erik fuller charlene darryl lynch bessie neil garrett delores christian romero \
        melinda javier welch pearl fernando larson arlene clinton frazier maureen ted burke colleen mathew hanson \
        allison tyrone mendoza tamara darren moreno joy lonnie bowman georgia lance medina constance cody fowler \
        lillie julio brewer claudia kurt hoffman jackie allan carlson marcia clayton silva tanya hugh pearson nellie \
        max holland minnie dwayne fleming marlene dwight jensen heidi armando vargas glenda felix byrd lydia jimmie \
        davidson viola everett hopkins courtney ian herrera marian ken wade stella bob soto caroline jaime walters \
        dora casey neal vickie alfredo caldwell mattie alberto lowe maxine dave jennings irma ivan barnett mabel \
        johnnie graves marsha sidney jimenez myrtle byron horton lena julian shelton christy isaac barrett deanna \
        clifton obrien patsy willard castro hilda daryl sutton gwendolyn virgil mckinney jennie andy lucas nora \
        salvador miles margie kirk rodriquez nina sergio chambers cassandra seth holt leah kent lambert penny \
        terrance fletcher kay rene watts priscilla eduardo bates naomi terrence hale carole enrique rhodes olga \
        freddie pena billie stuart beck dianne fredrick newman tracey arturo haynes leona alejandro mcdaniel jenny \
        joey mendez felicia nick bush sonia luther vaughn miriam wendell parks velma jeremiah dawson becky evan \
        santiago bobbie julius norris violet donnie hardy kristina otis steele toni trevor curry misty luke powers \
        mae homer schultz shelly gerard barker daisy doug guzman ramona kenny page sherri hubert munoz erika angelo \
        ball katrina shaun keller claire lyle chandler lindsey matt weber lindsay alfonso walsh geneva orlando lyons \
        guadalupe rex ramsey belinda carlton wolfe margarita ernesto schneider sheryl pablo mullins cora lorenzo \
        benson faye omar sharp ada wilbur bowen sabrina blake barber isabel horace hines marguerite roderick baldwin \
        hattie kerry griffith harriet abraham valdez molly rickey hubbard cecilia ira salazar kristi andres reeves \
        brandi cesar warner blanche johnathan stevenson sandy malcolm burgess rosie rudolph santos joanna damon tate \
        iris kelvin cross eunice rudy garner angie preston mann inez alton mack lynda archie moss madeline marco \
        thornton amelia pete mcgee alberta randolph farmer genevieve garry delgado monique geoffrey aguilar jodi \
        jonathon vega janie felipe glover kayla bennie manning sonya gerardo cohen jan dominic harmon kristine loren \
        rodgers candace delbert robbins fannie colin newton maryann guillermo blair opal earnest higgins alison \
        benny ingram yvette noel reese melody rodolfo cannon luz myron strickland susie edmund townsend olivia \
        salvatore potter flora cedric goodwin shelley lowell walton kristy gregg rowe mamie sherman hampton lula \
        devin ortega lola sylvester patton verna roosevelt swanson beulah israel goodman maldonado yates becker \
        erickson hodges rios conner adkins webster malone hammond flowers cobb moody quinn pope osborne mccarthy \
        guerrero estrada sandoval gibbs gross fitzgerald stokes doyle saunders wise colon gill alvarado greer \
        padilla waters nunez ballard schwartz mcbride houston christensen klein pratt briggs parsons mclaughlin \
        zimmerman buchanan moran copeland pittman
        """
}
